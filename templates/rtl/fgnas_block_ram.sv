// One write port, one synchronous read port, in block RAM. Reading takes a cycle. A word that is read while it is
// written is of no use, because parts differ in what they give: simulation gives the complement of what was there.

`default_nettype none

module fgnas_block_ram #(
  parameter int unsigned Depth = 1024,
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
  (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
  always_ff @(posedge clk_i) begin
    if (write_i) mem[write_address_i] <= write_data_i;
  end
`ifndef SYNTHESIS
  logic meets;
  assign meets = write_i && write_address_i == read_address_i;
  always_ff @(posedge clk_i) read_data_o <= meets ? ~mem[read_address_i] : mem[read_address_i];
`else
  always_ff @(posedge clk_i) read_data_o <= mem[read_address_i];
`endif
endmodule

`default_nettype wire
