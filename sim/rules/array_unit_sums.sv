// The rules of a unit's sums: every product is for one of its tiles.

`default_nettype none

module array_unit_sums_rules #(
  parameter int unsigned Tiles = 1
) (
  input wire                           clk_i,
  input wire                           rst_i,
  input wire                           valid_i,
  input wire [array_pkg::TileBits-1:0] tile_i
);
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      has_sum: assert (!valid_i || 32'(tile_i) < Tiles) else $error("a product is for a sum that is not there");
    end
  end
endmodule

bind array_unit_sums array_unit_sums_rules #(.Tiles(Tiles)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .valid_i(valid_i), .tile_i(tile_i)
);

`default_nettype wire
