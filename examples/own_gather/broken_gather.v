// simple_gather.v with one mistake in it: the conformance benches must find it.

module broken_gather #(
    parameter DATA_BITS = 512,
    parameter ID_BITS = 6,
    parameter RESULT_WORDS = 2,
    parameter MAX_FAN_OUT = 64,
    parameter COUNT_BITS = $clog2(RESULT_WORDS + 1)
) (
    input  wire                                    clk,
    input  wire                                    rst,
    input  wire [47:0]                             now,
    input  wire                                    abort,
    output wire                                    busy,
    // Launches: descriptor address, count, tag.
    input  wire                                    launches__valid,
    output wire                                    launches__ready,
    input  wire [127:0]                            launches__payload,
    // AXI4 reads.
    output wire                                    m_axi_arvalid,
    input  wire                                    m_axi_arready,
    output wire [63:0]                             m_axi_araddr,
    output wire [7:0]                              m_axi_arlen,
    output wire [2:0]                              m_axi_arsize,
    output wire [1:0]                              m_axi_arburst,
    output wire [ID_BITS-1:0]                      m_axi_arid,
    input  wire                                    m_axi_rvalid,
    output wire                                    m_axi_rready,
    input  wire [DATA_BITS-1:0]                    m_axi_rdata,
    input  wire [1:0]                              m_axi_rresp,
    input  wire                                    m_axi_rlast,
    input  wire [ID_BITS-1:0]                      m_axi_rid,
    // Result words, one in each transfer.
    output wire                                    results__valid,
    input  wire                                    results__ready,
    output wire [64*RESULT_WORDS+COUNT_BITS:0]     results__payload,
    // Ends of launches.
    output wire                                    done__valid,
    input  wire                                    done__ready,
    output wire [255:0]                            done__payload
);
    localparam BEAT_LOG2 = $clog2(DATA_BITS / 8);
    localparam [7:0] OK = 0, BAD_DESCRIPTOR = 1, BUS_ERROR = 2, ABORTED = 3;
    localparam [7:0] EXPLICIT = 0, DRAW = 1, MAGIC = 8'h47;

    // What the unit is at. A read asks, then waits; what it is for is in `wanted`.
    localparam [3:0] IDLE = 0, TARGET = 1, ASK = 2, WAIT = 3, CHECK = 4, PLACE = 5, LOOK = 6,
                     HEADER = 7, IDS = 8, DONE = 9;
    localparam [1:0] A_DESCRIPTOR = 0, A_POSITION = 1, AN_ID = 2;
    reg [3:0] state;
    reg [1:0] wanted;
    reg [63:0] address;  // of the read

    // The launch.
    reg [63:0] next_descriptor;
    reg [31:0] targets_left;
    reg [15:0] tag;
    reg [7:0] launch_status;
    reg [31:0] words;
    reg [47:0] started, first, last;
    reg giving_up;

    // The target: its descriptor, where in it we are, and the ids so far.
    reg [255:0] descriptor;
    reg [15:0] number;
    reg [31:0] position;
    reg [7:0] status;
    reg [63:0] ids [0:MAX_FAN_OUT-1];
    reg [15:0] sent;
    reg ends_launch;

    wire [7:0] mode = descriptor[15:8];
    wire [7:0] id_log2 = descriptor[23:16];
    wire [15:0] fan_out = descriptor[47:32];
    wire [63:0] list_address = descriptor[127:64];
    wire [31:0] degree = descriptor[159:128];
    wire [31:0] key = descriptor[191:160];
    wire [63:0] positions_address = descriptor[255:192];

    // 65 bits, so that the ends may be 2^64 and no more.
    wire is_wide = id_log2 == 3;
    wire [64:0] list_end = {1'b0, list_address} + ({33'd0, degree} << id_log2[1:0]);
    wire [64:0] positions_end = {1'b0, positions_address} + {47'd0, fan_out, 2'd0};
    localparam [64:0] LIMIT = 65'h1_0000_0000_0000_0000;
    wire list_is_good = (is_wide ? list_address[2:0] == 0 : list_address[1:0] == 0)
                        && list_end <= LIMIT;
    wire positions_are_good = positions_address[1:0] == 0 && positions_end <= LIMIT;
    wire is_good = descriptor[7:0] == MAGIC && (id_log2 == 2 || is_wide)
                   && (mode == DRAW || (mode == EXPLICIT && positions_are_good))
                   && fan_out >= 1 && fan_out <= MAX_FAN_OUT && list_is_good;

    // The mixer: word n of a key, then a position below the degree.
    function [31:0] mix(input [31:0] value);
        reg [31:0] word;
        begin
            word = value ^ (value >> 16);
            word = word * 32'h7feb352d;
            word = word ^ (word >> 15);
            word = word * 32'h846ca68b;
            mix = word ^ (word >> 16);
        end
    endfunction
    wire [31:0] drawn = mix(key + 32'h9e3779b9 * (number + 32'd1));
    wire [63:0] scaled = {32'd0, drawn} * {32'd0, degree};

    // The beat that has come, from the address on.
    wire [DATA_BITS-1:0] beat = m_axi_rdata >> {address[BEAT_LOG2-1:0], 3'b000};
    wire is_error = m_axi_rresp[1];

    wire is_sending = state == HEADER || state == IDS;
    wire is_last_of_target = state == HEADER ? count == 0 : sent == count - 1;
    wire [15:0] count = status == OK && degree != 0 ? fan_out : 16'd0;
    wire [63:0] word = state == HEADER ? {24'd0, status, 16'd0, count} : ids[sent];
    wire is_last = is_last_of_target && ends_launch;

    assign busy = state != IDLE;
    assign launches__ready = state == IDLE;
    assign m_axi_arvalid = state == ASK;
    assign m_axi_araddr = {address[63:BEAT_LOG2], {BEAT_LOG2{1'b0}}};
    assign m_axi_arlen = 0;
    assign m_axi_arsize = BEAT_LOG2;
    assign m_axi_arburst = 1;
    assign m_axi_arid = 0;
    assign m_axi_rready = state == WAIT;
    assign results__valid = is_sending;
    assign results__payload[63:0] = word;
    assign results__payload[64*RESULT_WORDS +: COUNT_BITS] = 1;
    assign results__payload[64*RESULT_WORDS+COUNT_BITS] = is_last;
    generate
        if (RESULT_WORDS > 1)
            assign results__payload[64*RESULT_WORDS-1:64] = 0;
    endgenerate
    assign done__valid = state == DONE;
    assign done__payload = {48'd0, last, first, started, words, 8'd0, launch_status, tag};

    // The target is over with this status; its header is next.
    task finish(input [7:0] with_status);
        begin
            status <= with_status;
            ends_launch <= targets_left == 1 || with_status == ABORTED;
            state <= HEADER;
        end
    endtask

    task read(input [1:0] what, input [63:0] from);
        begin
            wanted <= what;
            address <= from;
            state <= ASK;
        end
    endtask

    always @(posedge clk) begin
        case (state)
            IDLE: if (launches__valid) begin
                next_descriptor <= launches__payload[63:0];
                targets_left <= launches__payload[95:64];
                tag <= launches__payload[111:96];
                launch_status <= launches__payload[4:0] == 0 ? OK : BAD_DESCRIPTOR;
                words <= 0;
                {started, first, last} <= {now, now, now};
                giving_up <= 0;
                state <= launches__payload[4:0] != 0 || launches__payload[95:64] == 0 ? DONE : TARGET;
            end
            TARGET: begin
                number <= 0;
                sent <= 0;
                if (giving_up) finish(ABORTED);
                else read(A_DESCRIPTOR, next_descriptor);
            end
            ASK: if (m_axi_arready) state <= WAIT;
            WAIT: if (m_axi_rvalid) begin
                if (giving_up) finish(ABORTED);
                else if (is_error && wanted != AN_ID) finish(BUS_ERROR);  // ids that fail are given
                else case (wanted)
                    A_DESCRIPTOR: begin
                        descriptor <= beat[255:0];
                        state <= CHECK;
                    end
                    A_POSITION: begin
                        position <= beat[31:0];
                        state <= LOOK;
                    end
                    default: begin
                        ids[number] <= is_wide ? beat[63:0] : {32'd0, beat[31:0]};
                        number <= number + 1;
                        if (number + 1 == fan_out) finish(OK);
                        else state <= PLACE;
                    end
                endcase
            end
            CHECK: if (!is_good) finish(BAD_DESCRIPTOR);
                   else if (degree == 0) finish(OK);
                   else state <= PLACE;
            PLACE: if (giving_up) finish(ABORTED);
                   else if (mode == EXPLICIT)
                       read(A_POSITION, positions_address + {46'd0, number, 2'd0});
                   else begin
                       position <= scaled[63:32];
                       state <= LOOK;
                   end
            LOOK: if (position >= degree) finish(BAD_DESCRIPTOR);
                  else read(AN_ID, list_address + ({32'd0, position} << id_log2[1:0]));
            HEADER, IDS: if (results__ready) begin
                words <= words + 1;
                last <= now;
                if (words == 0) first <= now;
                if (state == HEADER && launch_status == OK) launch_status <= status;
                if (state == IDS) sent <= sent + 1;
                if (!is_last_of_target) state <= IDS;
                else if (ends_launch) state <= DONE;
                else begin
                    next_descriptor <= next_descriptor + 32;
                    targets_left <= targets_left - 1;
                    state <= TARGET;
                end
            end
            default: if (done__ready) state <= IDLE;
        endcase
        // Seen while the launch has words left, also if its last target is on its way already.
        if (abort && busy && state != DONE && !(is_sending && results__ready && is_last)) begin
            giving_up <= 1;
            launch_status <= ABORTED;
        end
        if (rst) state <= IDLE;
    end
endmodule
