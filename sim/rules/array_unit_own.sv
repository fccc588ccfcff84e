// The rules of a unit's own rows: what is written into them in a cycle, and that a row begins with its first word.

`default_nettype none

module array_unit_own_rules (
  input wire                           clk_i,
  input wire                           start_i,
  input wire                           load_i,
  input wire                           write_i,
  input wire [array_pkg::TileBits-1:0] tile_q_i,
  input wire [array_pkg::TileBits-1:0] tiles_i
);
  logic begun_q = 1'b0;  // a descriptor
  always_ff @(posedge clk_i) begin
    begun_q <= begun_q || start_i;
    one_source: assert (!(load_i && write_i)) else $error("a load meets a result for the own rows");
    in_row: assert (!begun_q || !write_i || tile_q_i < tiles_i) else $error("a result is behind its row's last word");
  end
endmodule

bind array_unit_own array_unit_own_rules u_rules (
  .clk_i(clk_i), .start_i(start_i), .load_i(load_own), .write_i(own_write), .tile_q_i(own_tile_q), .tiles_i(d_i.tiles)
);

`default_nettype wire
