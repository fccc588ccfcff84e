// Collects the parts of a word of results: it is there with its last part.

`default_nettype none

module array_unit_collect #(
  parameter int unsigned Finished = 4,  // lanes of a part
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits
) (
  input  wire                                          clk_i,
  input  wire                                          rst_i,
  input  wire                                          valid_i,
  input  wire  [Finished-1:0][ResultWidth-1:0]         lanes_i,
  output logic                                         valid_o,
  output logic [array_pkg::Lanes-1:0][ResultWidth-1:0] word_o
);
  localparam int unsigned Parts = array_pkg::Lanes / Finished;
  logic [Parts-2:0][Finished-1:0][ResultWidth-1:0] earlier_q;
  logic [$clog2(Parts)-1:0] count_q;
  assign valid_o = valid_i && 32'(count_q) == Parts - 1;
  assign word_o  = {lanes_i, earlier_q};
  always_ff @(posedge clk_i) begin
    if (valid_i) earlier_q[count_q] <= lanes_i;
    if (valid_i) count_q <= count_q + 1'b1;
    if (rst_i) count_q <= '0;
  end
endmodule

`default_nettype wire
