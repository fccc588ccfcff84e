// A memory of a unit's partial sums, in block RAM or in LUTRAM. Reading takes a cycle.

`default_nettype none

module array_unit_rows #(
  parameter int unsigned Depth = 512,
  parameter int unsigned Width = 64,
  parameter bit          Block = 1'b1,  // in block RAM
  localparam int unsigned PlaceBits = (Depth > 1) ? $clog2(Depth) : 1
) (
  input  wire                  clk_i,
  input  wire                  write_i,
  input  wire  [PlaceBits-1:0] write_address_i,
  input  wire  [Width-1:0]     write_data_i,
  input  wire  [PlaceBits-1:0] read_address_i,
  output logic [Width-1:0]     read_data_o
);
  if (Block) begin : gen_block
    fgnas_block_ram #(.Depth(Depth), .Width(Width)) u_memory (
      .clk_i(clk_i), .write_i(write_i), .write_address_i(write_address_i), .write_data_i(write_data_i),
      .read_address_i(read_address_i), .read_data_o(read_data_o)
    );
  end else begin : gen_distributed
    fgnas_distributed_ram #(.Depth(Depth), .Width(Width)) u_memory (
      .clk_i(clk_i), .write_i(write_i), .write_address_i(write_address_i), .write_data_i(write_data_i),
      .read_address_i(read_address_i), .read_data_o(read_data_o)
    );
  end
endmodule

`default_nettype wire
