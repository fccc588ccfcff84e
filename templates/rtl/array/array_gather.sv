// Adds the sums of the k units of a group that hold the same columns. One cycle.

`default_nettype none

module array_gather #(
  parameter int unsigned Units   = 8,
  parameter int unsigned Modes   = 2,
  parameter logic [Modes-1:0][3:0] LogK = '0,
  parameter logic [Modes-1:0][3:0] LogN = '0,
  parameter int unsigned SumBits = 28
) (
  input  wire                                                        clk_i,
  input  wire                                                        rst_i,
  /* verilator lint_off UNUSEDSIGNAL */  // an engine may have fewer modes than a descriptor can name
  input  wire  [array_pkg::ModeBits-1:0]                             mode_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire  [Units-1:0]                                           row_i,
  input  wire  [Units-1:0][array_pkg::Lanes-1:0][SumBits-1:0]        sum_i,
  output logic [Units-1:0]                                           valid_o,
  output logic [Units-1:0][array_pkg::Lanes-1:0][SumBits-1:0]        total_o
);
  import array_pkg::*;
  localparam int unsigned ModeIndexBits = (Modes > 1) ? $clog2(Modes) : 1;
  logic [ModeIndexBits-1:0] mode;
  assign mode = ModeIndexBits'(mode_i);
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    logic [Modes-1:0] leads;                              // the first of the k units
    logic [Modes-1:0][Lanes-1:0][SumBits-1:0] total;
    for (genvar m = 0; m < Modes; m++) begin : gen_mode
      localparam int unsigned K = 1 << LogK[m];
      localparam int unsigned N = 1 << LogN[m];
      assign leads[m] = ((u / N) % K) == 0;
      if (((u / N) % K) == 0) begin : gen_sum
        always_comb begin
          total[m] = sum_i[u];
          for (int unsigned part = 1; part < K; part++) begin
            for (int unsigned l = 0; l < Lanes; l++) total[m][l] = total[m][l] + sum_i[u+part*N][l];
          end
        end
      end else begin : gen_none
        assign total[m] = '0;
      end
    end
    always_ff @(posedge clk_i) begin
      valid_o[u] <= row_i[u] && leads[mode] && !rst_i;
      total_o[u] <= total[mode];
    end
  end
endmodule

`default_nettype wire
