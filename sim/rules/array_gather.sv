// The rules of the gathering of sums: totals are the first units', and of all k units of a group.

`default_nettype none

module array_gather_rules #(
  parameter int unsigned Units   = 8,
  parameter int unsigned Modes   = 2,
  parameter logic [Modes-1:0][3:0] LogK = '0,
  parameter logic [Modes-1:0][3:0] LogN = '0,
  parameter int unsigned SumBits = 28
) (
  input wire                                                 clk_i,
  input wire                                                 rst_i,
  /* verilator lint_off UNUSEDSIGNAL */  // an engine may have fewer modes than a descriptor can name
  input wire [array_pkg::ModeBits-1:0]                       mode_i,
  input wire [Units-1:0][array_pkg::Lanes-1:0][SumBits-1:0]  sum_i,
  input wire [Units-1:0][array_pkg::Lanes-1:0][SumBits-1:0]  total_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input wire [Units-1:0]                                     row_i,
  input wire [Units-1:0]                                     valid_i
);
  logic seen_q = 1'b0;  // a reset
  logic [Units-1:0] row_q, leads, leads_q;
  always_comb begin
    leads = '0;
    for (int unsigned m = 0; m < Modes; m++) begin
      for (int unsigned u = 0; u < Units; u++) begin
        if (32'(mode_i) == m && (u >> LogN[m]) % (32'd1 << LogK[m]) == 0) leads[u] = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    row_q   <= row_i;
    leads_q <= leads;
    if (rst_i) begin
      seen_q <= 1'b1;
      row_q  <= '0;
    end
    if (seen_q && !rst_i) begin
      leaders_alone: assert ((valid_i & ~leads_q) == '0) else $error("a unit that is not the first has a total");
      every_row: assert (valid_i == (row_q & leads_q)) else $error("a row's total is lost, or comes from nowhere");
    end
  end

`ifdef PROVE_ARRAY_GATHER
  logic [Units-1:0][array_pkg::Lanes-1:0][SumBits-1:0] whole, whole_q;  // the sums of all k units
  always_comb begin
    whole = '0;
    for (int unsigned m = 0; m < Modes; m++) begin
      for (int unsigned u = 0; u < Units; u++) begin
        for (int unsigned k = 0; k < (32'd1 << LogK[m]); k++) begin
          for (int unsigned l = 0; l < array_pkg::Lanes; l++) begin
            if (32'(mode_i) == m && leads[u]) whole[u][l] = whole[u][l] + sum_i[u+(k<<LogN[m])][l];
          end
        end
      end
    end
  end
  logic [Units-1:0] wrong;
  always_comb for (int unsigned u = 0; u < Units; u++) wrong[u] = valid_i[u] && total_i[u] != whole_q[u];
  always_ff @(posedge clk_i) begin
    whole_q <= whole;
    if (!seen_q) begin
      begins_with_reset: assume (rst_i);
    end
    has_mode: assume (32'(mode_i) < Modes);
    if (seen_q && !rst_i) begin
      totals: assert (wrong == '0);
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_total: assert (!(valid_i == leads_q && valid_i != '1 && total_i[0][0] != '0));
    end
  end
`endif
endmodule

bind array_gather array_gather_rules #(
  .Units(Units), .Modes(Modes), .LogK(LogK), .LogN(LogN), .SumBits(SumBits)
) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .mode_i(mode_i), .sum_i(sum_i), .total_i(total_o), .row_i(row_i), .valid_i(valid_o)
);

`default_nettype wire
