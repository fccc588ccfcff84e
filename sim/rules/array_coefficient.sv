// The rules of an attention's coefficients: what a message is weighted by.

`default_nettype none

module array_coefficient_rules (
  input wire                                                   clk_i,
  input wire                                                   scores_i,
  input wire                                                   maxima_i,
  input wire                                                   messages_i,
  input wire                                                   queries_i,
  input wire [array_pkg::Lanes-1:0][array_pkg::ValueBits-1:0]  values_i,
  input wire [array_pkg::Lanes-1:0]                            lane_i
);
  localparam int unsigned One = 1 << (array_pkg::CoefficientBits - 1);
  logic [array_pkg::Lanes-1:0] over;
  logic [2:0] steps;  // of an attention, of which a descriptor has one
  always_comb for (int unsigned l = 0; l < array_pkg::Lanes; l++) over[l] = 32'(values_i[l]) > One;
  assign steps = 3'(scores_i) + 3'(maxima_i) + 3'(messages_i) + 3'(queries_i);
  always_ff @(posedge clk_i) begin
    one_step: assert (steps <= 3'd1) else $error("a descriptor has two steps of an attention");
    at_most_one: assert (!messages_i || over == '0) else $error("a message is weighted by more than 1");
    one_lane: assert (lane_i != '0 && (lane_i & (lane_i - 1'b1)) == '0) else $error("a score has no lane, or two");
  end
endmodule

bind array_coefficient array_coefficient_rules u_rules (
  .clk_i(clk_i), .scores_i(scores_i), .maxima_i(maxima_i), .messages_i(messages_i), .queries_i(queries_i),
  .values_i(values_o), .lane_i(lane_o)
);

`default_nettype wire
