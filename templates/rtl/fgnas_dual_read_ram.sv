// A block RAM whose two ports both read or both write. Reading takes a cycle.

`default_nettype none

module fgnas_dual_read_ram #(
  parameter int unsigned Depth = 1024,
  parameter int unsigned Width = 32,
  parameter int unsigned AddressBits = (Depth > 1) ? $clog2(Depth) : 1
) (
  input  wire                    clk_i,
  input  wire                    write_i,
  input  wire  [Width-1:0]       write_a_i,
  input  wire  [Width-1:0]       write_b_i,
  input  wire  [AddressBits-1:0] address_a_i,
  output logic [Width-1:0]       read_a_o,
  input  wire  [AddressBits-1:0] address_b_i,
  output logic [Width-1:0]       read_b_o
);
  (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
  // Plain `always`: a variable that two always_ff processes write is illegal (IEEE 1800, 9.2.2.4).
  always @(posedge clk_i) begin
    if (write_i) mem[address_a_i] <= write_a_i;
    else read_a_o <= mem[address_a_i];
  end
  always @(posedge clk_i) begin
    if (write_i) mem[address_b_i] <= write_b_i;
    else read_b_o <= mem[address_b_i];
  end
endmodule

`default_nettype wire
