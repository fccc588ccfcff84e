// One write port, one synchronous read port, in LUTRAM. Reading takes a cycle.

`default_nettype none

module fgnas_distributed_ram #(
  parameter int unsigned Depth = 64,
  parameter int unsigned Width = 32,
  parameter int unsigned AddressBits = (Depth > 1) ? $clog2(Depth) : 1
) (
  input  wire                    clk_i,
  input  wire                    write_i,
  input  wire  [AddressBits-1:0] write_address_i,
  input  wire  [Width-1:0]       write_data_i,
  input  wire  [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o
);
  (* ram_style = "distributed" *) logic [Width-1:0] mem[Depth];
  always_ff @(posedge clk_i) begin
    if (write_i) mem[write_address_i] <= write_data_i;
  end
  always_ff @(posedge clk_i) read_data_o <= mem[read_address_i];
endmodule

`default_nettype wire
