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
  // The most units that hold the same columns.
  function automatic int unsigned largest_k();
    largest_k = 1;
    for (int unsigned m = 0; m < Modes; m++) if (32'd1 << LogK[m] > largest_k) largest_k = 32'd1 << LogK[m];
  endfunction
  localparam int unsigned MostParts = largest_k();
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    logic [Modes-1:0] leads;  // the first of the k units
    logic [MostParts-1:0][Modes-1:0][Lanes*SumBits-1:0] part;
    for (genvar m = 0; m < Modes; m++) begin : gen_mode
      localparam int unsigned K = 1 << LogK[m];
      localparam int unsigned N = 1 << LogN[m];
      localparam bit Leads = ((u / N) % K) == 0;
      assign leads[m] = Leads;
      for (genvar p = 0; p < MostParts; p++) begin : gen_part
        if (Leads && p > 0 && p < K) begin : gen_other
          assign part[p][m] = (32'(mode) == m) ? sum_i[u+p*N] : '0;
        end else begin : gen_none
          assign part[p][m] = '0;
        end
      end
    end
    // Each of the others is chosen before it is added, so that choice and adder share their LUTs.
    logic [Lanes-1:0][SumBits-1:0] total, other;
    always_comb begin
      total = sum_i[u];
      for (int unsigned p = 1; p < MostParts; p++) begin
        other = '0;
        for (int unsigned m = 0; m < Modes; m++) other = other | part[p][m];
        for (int unsigned l = 0; l < Lanes; l++) total[l] = total[l] + other[l];
      end
    end
    always_ff @(posedge clk_i) begin
      valid_o[u] <= row_i[u] && leads[mode] && !rst_i;
      total_o[u] <= total;
    end
  end
endmodule

`default_nettype wire
