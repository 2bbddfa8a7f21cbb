// Clock of one RTL unit. Rising edge n is at n * PERIOD; edge 0 is not made, since the unit is
// still without reset. The clock stops while the unit is quiet and starts again, on the same grid,
// at the first edge strictly after a change of kick, or at wake_edge, whichever comes first.
//
// edge_number is the number of the next edge and is stable long before it: at edge n the unit's
// flip-flops sample n. All changes made here happen at even times, those of the kernel at odd
// ones, so no two can race. Reset is low over the first edges, so that every combinational block
// sees it rise (simulators need not evaluate "always @*" at time 0), high over two, then low.
`timescale 1ps/1ps
module unit_clock #(
    parameter [63:0] PERIOD = 10000  // even, at least 4
) (
    input  wire         stop_enable,
    input  wire         quiet,
    input  wire [47:0]  wake_edge,
    input  wire         kick,
    output reg          clk,
    output reg          rst,
    output reg  [47:0]  edge_number,
    output reg          stopped,
    output reg  [63:0]  due  // time of wake_edge while stopped; all ones: none, or running
);
    localparam [63:0] HIGH = (PERIOD / 2) & ~64'd1;
    localparam [63:0] LOW = PERIOD - HIGH;
    localparam [47:0] NEVER = ~48'd0;
    localparam [47:0] RESET_UP = 3, RESET_DOWN = 5;

    reg [63:0] gap;     // from now to the next rising edge
    reg [31:0] ticket;  // of the latest stop
    reg [31:0] alarm;   // becomes a stop's ticket one low phase before its wake_edge
    reg        seen;
    reg [63:0] next;
    reg        jump;

    initial begin
        clk = 1'b0;
        rst = 1'b0;
        edge_number = 48'd1;
        stopped = 1'b0;
        due = ~64'd0;
        ticket = 32'd0;
        alarm = 32'd0;
        jump = 1'b0;
        gap = PERIOD;
    end

    // The units' logic hangs on these two, so they are ordinary registers, apart from the process
    // with delays: Verilator then evaluates that logic once an edge and not once more for each of
    // the process's own steps.
    always @(posedge clk or posedge jump)
        if (jump) edge_number <= next[47:0];
        else edge_number <= edge_number + 48'd1;

    always @(negedge clk) rst <= edge_number >= RESET_UP && edge_number < RESET_DOWN;

    always begin : beat
        #gap;
        jump = 1'b0;
        clk = 1'b1;
        #HIGH;
        clk = 1'b0;
        gap = LOW;
        if (stop_enable && quiet && edge_number > RESET_DOWN && wake_edge > edge_number) begin
            stopped = 1'b1;
            seen = kick;
            ticket = ticket + 32'd1;
            if (wake_edge != NEVER) begin
                due = wake_edge * PERIOD;
                alarm <= #((wake_edge - edge_number) * PERIOD) ticket;
            end
            while (kick == seen && alarm != ticket) @(kick or alarm);
            stopped = 1'b0;
            due = ~64'd0;
            next = $time / PERIOD + 64'd1;
            gap = next * PERIOD - $time;
            jump = 1'b1;
        end
    end
endmodule
