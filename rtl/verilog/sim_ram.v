// Storage of simulation-only components: words reachable by name ("mem"), zeroed only if asked for.
`timescale 1ps/1ps
module sim_ram #(
    parameter DEPTH = 2,
    parameter WIDTH = 8,
    parameter ZEROED = 0,
    parameter ADDRESS_BITS = 1,
    // Low bits of the following word that are read with a word; 1 is none.
    parameter AHEAD_BITS = 1
) (
    input  wire                    clk,
    input  wire [ADDRESS_BITS-1:0] read_address,
    input  wire                    read_enable,
    output reg  [WIDTH-1:0]        read_data,
    output reg  [AHEAD_BITS-1:0]   read_ahead,
    input  wire [ADDRESS_BITS-1:0] write_address,
    input  wire [WIDTH-1:0]        write_data,
    input  wire [WIDTH/8-1:0]      write_mask,
    input  wire                    write_enable
);
    reg [WIDTH-1:0] mem [0:DEPTH-1];
    reg [WIDTH-1:0] merged;
    integer lane;
    integer word;

    initial begin
        read_data = {WIDTH{1'b0}};
        read_ahead = {AHEAD_BITS{1'b0}};
        if (ZEROED) for (word = 0; word < DEPTH; word = word + 1) mem[word] = {WIDTH{1'b0}};
    end

    always @(posedge clk) begin
        if (read_enable) read_data <= mem[read_address];
        if (read_enable && AHEAD_BITS > 1) begin
            if (read_address + 1 < DEPTH) read_ahead <= mem[read_address + 1][AHEAD_BITS-1:0];
            else read_ahead <= {AHEAD_BITS{1'b0}};
        end
        if (write_enable) begin
            if (&write_mask) mem[write_address] <= write_data;
            else begin
                merged = mem[write_address];
                for (lane = 0; lane < WIDTH / 8; lane = lane + 1)
                    if (write_mask[lane]) merged[8*lane +: 8] = write_data[8*lane +: 8];
                mem[write_address] <= merged;
            end
        end
    end
endmodule
