// The rules of added rows: the sum saturates to the descriptor's width, and rows have no more words than it says.

`default_nettype none

module array_unit_residual_rules (
  input wire                                                      clk_i,
  input wire                                                      rst_i,
  input wire                                                      next_i,
  input wire [array_pkg::TileBits-1:0]                            tile_q_i,
  input wire [array_pkg::TileBits-1:0]                            tiles_i,
  input wire                                                      valid_i,
  input wire [array_pkg::Lanes-1:0][fgnas_pkg::WordBits-1:0]      word_i,
  input wire signed [fgnas_pkg::WordBits-1:0]                     largest_i
);
  logic narrow;
  always_comb begin
    narrow = 1'b1;
    for (int unsigned l = 0; l < array_pkg::Lanes; l++) begin
      if (signed'(word_i[l]) > largest_i || signed'(word_i[l]) < ~largest_i) narrow = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      saturated: assert (!valid_i || narrow) else $error("a result is wider than its descriptor says");
      in_row: assert (!next_i || tile_q_i < tiles_i) else $error("a word is behind its row's last one");
    end
  end
endmodule

bind array_unit_residual array_unit_residual_rules u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .next_i(next_i), .tile_q_i(at_tile_q), .tiles_i(d_i.tiles), .valid_i(valid_o),
  .word_i(word_o), .largest_i(largest_i)
);

`default_nettype wire
