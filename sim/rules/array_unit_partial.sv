// The rules of a unit's partial sums: a descriptor begins with the first place and none of the last one's totals.

`default_nettype none

module array_unit_partial_rules #(
  parameter int unsigned PartialWords = 64
) (
  input wire                              clk_i,
  input wire                              rst_i,
  input wire                              start_i,
  input wire                              valid_i,
  input wire                              valid_q_i,
  input wire                              write_i,
  input wire [$clog2(PartialWords)-1:0]   place_i
);
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      at_rest: assert (!start_i || !(valid_i || valid_q_i)) else $error("a descriptor begins before the last one ends");
      placed: assert (!write_i || 32'(place_i) < PartialWords) else $error("a partial sum is kept where no place is");
    end
  end
endmodule

bind array_unit_partial array_unit_partial_rules #(.PartialWords(PartialWords)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .valid_i(valid_i), .valid_q_i(total_valid_q),
  .write_i(total_valid_q && keeps && fits_q), .place_i(kept_place_q)
);

`default_nettype wire
