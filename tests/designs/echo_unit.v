// A stand-in with the ports of a flash-channel unit: one way, one command at a time. A command's
// tag picks how many edges pass before its DieBegin; ArrayDone copies the page register's first
// words to the landing memory, and the completion follows PAUSE edges later.
`timescale 1ps/1ps
module echo_unit #(
    parameter PAUSE = 7
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [47:0]  now,
    input  wire [127:0] command,
    input  wire         command_toggle,
    input  wire [15:0]  array_done,
    input  wire [1:0]   landing_free,
    output reg  [471:0] \event ,
    output reg          event_toggle,
    output wire         quiet,
    output wire [47:0]  wake_edge,
    output wire [31:0]  counters
);
    localparam IDLE = 2'd0, LEAD = 2'd1, ARRAY = 2'd2, PAUSED = 2'd3;

    reg [1:0]  state = IDLE;
    reg        command_seen = 0;
    reg        done_seen = 0;
    reg [7:0]  number = 0;
    reg [15:0] tag = 0;
    reg [31:0] row = 0;
    reg [47:0] deadline = 0;
    reg [47:0] accepted = 0, issued = 0, ready = 0;
    reg [31:0] clocks = 0;  // counts real edges only: differs between stopped and running clocks

    wire command_new = command_toggle != command_seen;
    wire done_new = array_done[8] != done_seen;
    wire waiting = state == LEAD || state == PAUSED;

    assign quiet = !command_new && !done_new;
    assign wake_edge = waiting ? deadline : ~48'd0;
    assign counters = clocks;

    sim_ram #(.DEPTH(16), .WIDTH(1024), .ADDRESS_BITS(4)) page0 (
        .clk(clk), .read_address(4'd0), .read_enable(1'b1), .read_data(page_word),
        .write_address(4'd0), .write_data(1024'd0), .write_mask(128'd0), .write_enable(1'b0)
    );
    wire [1023:0] page_word;
    sim_ram #(.DEPTH(32), .WIDTH(1024), .ADDRESS_BITS(5)) landing (
        .clk(clk), .read_address(5'd0), .read_enable(1'b0), .read_data(),
        .write_address(5'd0), .write_data(~page_word), .write_mask(~128'd0),
        .write_enable(state == PAUSED)
    );

    initial begin
        \event = 472'd0;
        event_toggle = 0;
    end

    always @(posedge clk) begin
        clocks <= clocks + 1;
        command_seen <= command_toggle;
        done_seen <= array_done[8];
        if (command_new && state == IDLE) begin
            state <= LEAD;
            row <= command[63:32];
            tag <= command[111:96];
            accepted <= now;
            deadline <= now + 1 + command[111:96];
        end
        if (state == LEAD && now == deadline) begin
            state <= ARRAY;
            number <= number + 1;
            issued <= now;
            \event <= {384'd0, row, 8'd0, 8'd0, 8'd0, number + 8'd1, 16'd0, 8'd2};
            event_toggle <= !event_toggle;
        end
        if (state == ARRAY && done_new && array_done[7:0] == number) begin
            state <= PAUSED;
            ready <= now;
            deadline <= now + PAUSE;
        end
        if (state == PAUSED && now == deadline) begin
            state <= IDLE;
            \event <= {32'd0, now, ready, ready, issued, accepted, accepted, 48'd0, tag,
                       88'd1};
            event_toggle <= !event_toggle;
        end
        if (rst) begin
            state <= IDLE;
            event_toggle <= 0;
            number <= 0;
        end
    end
endmodule
