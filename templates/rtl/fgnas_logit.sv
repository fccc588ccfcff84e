// Logit = RNE(sum over heads / k) + bias, saturated. Combinational.

`default_nettype none

module fgnas_logit #(
  parameter int unsigned SumBits   = 24,
  parameter int unsigned HeadBits  = 0,   // k = 2**HeadBits
  parameter int unsigned YBits     = 20,
  parameter int unsigned ValueBits = 8,
  parameter int unsigned ExtraBits = fgnas_pkg::LogitExtraBits,   // fraction bits of a logit beyond those of the bias
  parameter int unsigned LogitBits = fgnas_pkg::LogitBits
) (
  input  wire signed  [SumBits-1:0]   sum_i,
  input  wire signed  [ValueBits-1:0] bias_i,
  output logic signed [LogitBits-1:0] logit_o
);
  localparam int unsigned BiasBits = ValueBits + ExtraBits;
  localparam int unsigned MeanBits = ((YBits > BiasBits) ? YBits : BiasBits) + 1;
  logic signed [YBits-1:0] mean;
  logic signed [MeanBits-1:0] biased;
  fgnas_requantise #(.InBits(SumBits), .Shift(HeadBits), .OutBits(YBits)) u_mean (.value_i(sum_i), .value_o(mean));
  assign biased = MeanBits'(mean) + (MeanBits'(bias_i) <<< ExtraBits);
  fgnas_requantise #(.InBits(MeanBits), .Shift(0), .OutBits(LogitBits)) u_saturate (
    .value_i(biased), .value_o(logit_o)
  );
endmodule

`default_nettype wire
