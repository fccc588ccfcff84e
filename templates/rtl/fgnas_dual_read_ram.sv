// Two read ports in one block RAM; writing borrows the first. Reading takes a cycle.

`default_nettype none

module fgnas_dual_read_ram #(
  parameter int unsigned Depth = 1024,
  parameter int unsigned Width = 32,
  parameter int unsigned AddressBits = (Depth > 1) ? $clog2(Depth) : 1
) (
  input  wire                    clk_i,
  input  wire                    write_i,
  input  wire  [Width-1:0]       write_data_i,
  input  wire  [AddressBits-1:0] address_a_i,
  output logic [Width-1:0]       read_a_o,
  input  wire  [AddressBits-1:0] address_b_i,
  output logic [Width-1:0]       read_b_o
);
  (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
  always_ff @(posedge clk_i) begin
    if (write_i) mem[address_a_i] <= write_data_i;
    else read_a_o <= mem[address_a_i];
  end
  always_ff @(posedge clk_i) read_b_o <= mem[address_b_i];
endmodule

`default_nettype wire
