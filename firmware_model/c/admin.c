#include "firmware.h"

#define QUEUES 16
#define PAGE_BYTES 4096u
#define FUSE_AND_PSDT 0xC300u
#define NAMESPACE 1
#define LOW 0xFFFFu

enum opcode {
    DELETE_SUBMISSION = 0x00,
    CREATE_SUBMISSION = 0x01,
    DELETE_COMPLETION = 0x04,
    CREATE_COMPLETION = 0x05,
    IDENTIFY = 0x06,
    ABORT = 0x08,
    SET_FEATURES = 0x09,
    GET_FEATURES = 0x0A,
};

enum feature { ARBITRATION = 0x01, NUMBER_OF_QUEUES = 0x07 };
enum what { OF_NAMESPACE = 0x00, OF_CONTROLLER = 0x01, NAMESPACES = 0x02 };

/* Which I/O queues there are. By queue, from 0 for number 1: `completion_of` is the number of the
 * completion queue of a submission queue, 0 without; `users` of a completion queue is 1 and the
 * submission queues that use it, 0 without.
 */
struct admin {
    uint32_t io_queues;
    uint32_t most_entries;
    uint32_t burst;
    uint32_t created;
    uint32_t completion_of[QUEUES];
    uint32_t users[QUEUES];
};

/* Whether a queue may be made; `there` is its own entry of a table. */
static inline uint32_t judge_new(const uint32_t *words, uint32_t number, const struct admin *admin,
                          const uint32_t *there)
{
    if (number - 1 >= admin->io_queues || *there)
        return INVALID_QUEUE_IDENTIFIER;
    uint32_t size = words[10] >> 16;
    if (!size || size >= admin->most_entries)
        return INVALID_QUEUE_SIZE;
    if (!(words[11] & 1))
        return INVALID_FIELD;
    return words[6] % PAGE_BYTES ? PRP_OFFSET_INVALID : SUCCESS;
}

/* Judge an admin command, and keep what it says of queues and features. */
uint32_t admin_command(const uint32_t *words, struct admin *admin, uint32_t *result)
{
    uint32_t number = words[10] & LOW;
    uint32_t *completion_of = admin->completion_of + (number - 1) % QUEUES;
    uint32_t *users = admin->users + (number - 1) % QUEUES;
    uint32_t known = number - 1 < admin->io_queues;
    uint32_t status;
    *result = 0;
    if (words[0] & FUSE_AND_PSDT)
        return INVALID_FIELD;
    switch (words[0] & 0xFF) {
    case CREATE_COMPLETION:
        status = judge_new(words, number, admin, users);
        if (status)
            return status;
        if (words[11] >> 16 > admin->io_queues)
            return INVALID_INTERRUPT_VECTOR;
        *users = 1;
        admin->created++;
        return SUCCESS;
    case CREATE_SUBMISSION: {
        status = judge_new(words, number, admin, completion_of);
        if (status)
            return status;
        uint32_t completions = words[11] >> 16;
        uint32_t *used = admin->users + (completions - 1) % QUEUES;
        if (completions - 1 >= admin->io_queues || !*used)
            return COMPLETION_QUEUE_INVALID;
        *completion_of = completions;
        ++*used;
        return SUCCESS;
    }
    case DELETE_SUBMISSION:
        if (!known || !*completion_of)
            return INVALID_QUEUE_IDENTIFIER;
        admin->users[(*completion_of - 1) % QUEUES]--;
        *completion_of = 0;
        return SUCCESS;
    case DELETE_COMPLETION:
        if (!known || !*users)
            return INVALID_QUEUE_IDENTIFIER;
        if (*users != 1)
            return INVALID_QUEUE_DELETION;
        *users = 0;
        admin->created--;
        return SUCCESS;
    case IDENTIFY:
        switch (words[10] & 0xFF) {
        case OF_NAMESPACE:
            return words[1] == NAMESPACE ? SUCCESS : INVALID_NAMESPACE;
        case OF_CONTROLLER:
        case NAMESPACES:
            return SUCCESS;
        }
        return INVALID_FIELD;
    case SET_FEATURES:
        switch (words[10] & 0xFF) {
        case ARBITRATION:
            admin->burst = words[11] & 7;
            return SUCCESS;
        case NUMBER_OF_QUEUES:
            if ((words[11] & LOW) == LOW || words[11] >> 16 == LOW)
                return INVALID_FIELD;
            if (admin->created)
                return COMMAND_SEQUENCE_ERROR;
            *result = (admin->io_queues - 1) * 0x10001u;
            return SUCCESS;
        }
        return INVALID_FIELD;
    case GET_FEATURES:
        switch (words[10] & 0xFF) {
        case ARBITRATION:
            *result = admin->burst;
            return SUCCESS;
        case NUMBER_OF_QUEUES:
            *result = (admin->io_queues - 1) * 0x10001u;
            return SUCCESS;
        }
        return INVALID_FIELD;
    case ABORT:
        return SUCCESS;
    }
    return INVALID_OPCODE;
}
