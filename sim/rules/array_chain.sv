// The rules of the nearest points of a row.

`default_nettype none

module array_chain_rules #(
  parameter int unsigned Places  = 20,
  parameter int unsigned KeyBits = 38
) (
  input wire                               clk_i,
  input wire                               rst_i,
  input wire                               start_i,
  input wire                               valid_q_i,  // a key takes its place
  input wire                               last_q_i,   // the row's last one
  input wire                               sorted_q_i,
  input wire [array_pkg::PlacesBits-1:0]   left_q_i,
  input wire [array_pkg::PlacesBits-1:0]   places_i,
  input wire [Places-1:0][KeyBits-1:0]     place_q_i
);
  int unsigned keys_q, row_q;  // of the row so far, and of the row that is sorted
  always_ff @(posedge clk_i) begin
    if (valid_q_i) begin
      keys_q <= last_q_i ? 0 : keys_q + 1;
      row_q  <= keys_q + 1;
    end
    if (start_i) keys_q <= 0;
    if (!rst_i && sorted_q_i) begin
      left: assert (32'(left_q_i) <= 1) else $error("indices of a row are lost: the next row ends too early");
      enough: assert (row_q >= 32'(places_i)) else $error("a row has fewer points than places");
      for (int unsigned p = 1; p < Places; p++) begin
        order: assert (p >= row_q || place_q_i[p-1] < place_q_i[p]) else $error("keys are not in order");
      end
    end
  end
endmodule

bind array_chain array_chain_rules #(.Places(Places), .KeyBits(KeyBits)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .valid_q_i(valid_q), .last_q_i(last_q), .sorted_q_i(sorted_q),
  .left_q_i(left_q), .places_i(places_i), .place_q_i(place_q)
);

`default_nettype wire
