// gat's first pass over a row: e = 5 LeakyReLU(s_i + r_j) of every edge and head goes into a ring together with the
// edge's source, and the row's largest e of every head into a row buffer. The edges are read from main memory once.
//
// A row starts only when the ring surely has room for the longest row: with at most RingEdges - DegreeCapacity edges
// outstanding. Reading a row's last entry gives its edges back.

`default_nettype none

module fgnas_row_maximum #(
  parameter int unsigned GroupHeads     = 1,
  parameter int unsigned HeadGroups     = 2,
  parameter int unsigned ValueBits      = 8,
  parameter int unsigned ExponentBits   = 12,
  parameter int unsigned Capacity       = 3072,  // nodes that the score memories hold
  parameter int unsigned AddressBits    = 13,
  parameter int unsigned SourceBits     = 12,
  parameter int unsigned DegreeCapacity = 256,
  parameter int unsigned RingEdges      = 512,   // edges that the ring holds
  parameter int unsigned DegreeBits     = $clog2(DegreeCapacity + 1) + 1
) (
  input  wire                                     clk_i,
  input  wire                                     rst_i,
  input  wire  [fgnas_pkg::RegisterBits-1:0]      nodes_i,
  input  wire                                     beat_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // gat does not use the coefficients
  input  wire  fgnas_pkg::beat_t                  beat_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                                    beat_pop_o,
  output logic [AddressBits-1:0]                  target_address_o,
  output logic [AddressBits-1:0]                  source_address_o,
  input  wire  [GroupHeads-1:0][ValueBits-1:0]    target_i,
  input  wire  [GroupHeads-1:0][ValueBits-1:0]    source_i,
  output logic                                    ring_write_o,
  output logic                                    ring_last_o,  // the row's last edge
  output logic [SourceBits-1:0]                   ring_source_o,
  output logic [GroupHeads-1:0][ExponentBits-1:0] ring_exponent_o,
  input  wire                                     release_i,    // a row was read from the ring
  input  wire  [DegreeBits-1:0]                   release_edges_i,
  input  wire                                     free_i,
  output logic                                    reserve_o,
  output logic                                    write_o,
  output logic                                    write_last_o,
  output logic [GroupHeads-1:0][ExponentBits-1:0] maximum_o,
  output logic                                    row_issued_o,
  output logic                                    degree_error_o,
  output logic                                    source_error_o
);
  localparam int unsigned GroupBits = (HeadGroups > 1) ? $clog2(HeadGroups) : 1;
  localparam int unsigned RingBits = $clog2(RingEdges + 1) + 1;

  if (fgnas_pkg::EdgesPerBeat != 4) begin : gen_check
    $error("a beat has four edges here");
  end

  // Issue: a group of heads of the front edge.
  logic [1:0] edge_q;
  /* verilator lint_off UNUSEDSIGNAL */
  fgnas_pkg::edge_t in_front;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [GroupBits-1:0] group_q;
  logic [AddressBits-1:0] base_q, row_q;
  logic [DegreeBits-1:0] degree_q;
  logic [RingBits-1:0] outstanding_q;
  logic row_open_q, beat_last_q, group_last, issue, row_last, edge_done;

  always_comb begin
    unique case (edge_q)
      2'd0: in_front = beat_i[0*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
      2'd1: in_front = beat_i[1*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
      2'd2: in_front = beat_i[2*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
      default: in_front = beat_i[3*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
    endcase
  end
  assign group_last   = group_q == GroupBits'(HeadGroups - 1);
  assign row_last     = in_front.last;
  assign issue        = beat_valid_i &&
                        (row_open_q || (free_i && outstanding_q <= RingBits'(RingEdges - DegreeCapacity)));
  assign edge_done    = issue && group_last;
  assign beat_pop_o   = issue && beat_last_q;
  assign reserve_o    = issue && !row_open_q;
  assign row_issued_o = edge_done && row_last;

  always_ff @(posedge clk_i) begin
    outstanding_q <= outstanding_q + RingBits'(edge_done) - (release_i ? RingBits'(release_edges_i) : '0);
    if (issue) begin
      group_q    <= group_last ? '0 : group_q + 1'b1;
      base_q     <= group_last ? '0 : base_q + AddressBits'(Capacity);
      row_open_q <= !row_issued_o;
      // Whether the beat's last issue is next: a register, because the beats behind it depend on it.
      beat_last_q <= (HeadGroups == 1) ? edge_q == 2'd2 : edge_q == 2'd3 && 32'(group_q) == HeadGroups - 2;
    end
    if (edge_done) begin
      edge_q   <= edge_q + 1'b1;
      degree_q <= row_last ? '0 : degree_q + 1'b1;
    end
    if (row_issued_o) row_q <= row_q + 1'b1;
    degree_error_o <= edge_done && (degree_q >= DegreeBits'(DegreeCapacity));
    source_error_o <= issue && ((fgnas_pkg::RegisterBits)'(in_front.source) >= nodes_i);
    if (rst_i) begin
      outstanding_q  <= '0;
      group_q        <= '0;
      base_q         <= '0;
      row_open_q     <= 1'b0;
      beat_last_q    <= 1'b0;
      edge_q         <= '0;
      degree_q       <= '0;
      row_q          <= '0;
      degree_error_o <= 1'b0;
      source_error_o <= 1'b0;
    end
  end

  logic [2:0] valid_q, first_q, last_q, row_last_q;
  logic [SourceBits-1:0] source_q[3];
  always_ff @(posedge clk_i) begin
    target_address_o <= base_q + row_q;
    source_address_o <= base_q + AddressBits'(in_front.source);
    valid_q          <= rst_i ? '0 : {valid_q[1:0], issue};
    first_q          <= {first_q[1:0], degree_q == '0};
    last_q           <= {last_q[1:0], row_last};
    row_last_q       <= {row_last_q[1:0], row_last && group_last};
    source_q         <= '{in_front.source[SourceBits-1:0], source_q[0], source_q[1]};
  end

  // 0.2 is not a fixed-point value, so LeakyReLU is scaled by 5: 5 z for z >= 0, else z.
  logic [GroupHeads-1:0][ExponentBits-1:0] exponent_q, stored, larger;
  for (genvar g = 0; g < GroupHeads; g++) begin : gen_head
    logic signed [ExponentBits-1:0] z;
    assign z = ExponentBits'(signed'(target_i[g])) + ExponentBits'(signed'(source_i[g]));
    always_ff @(posedge clk_i) exponent_q[g] <= z[ExponentBits-1] ? z : z + (z <<< 2);
    assign larger[g] = (first_q[2] || signed'(exponent_q[g]) > signed'(stored[g])) ? exponent_q[g] : stored[g];
  end

  logic [GroupBits-1:0] maximum_group_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[2]) maximum_group_q <= (maximum_group_q == GroupBits'(HeadGroups - 1)) ? '0 : maximum_group_q + 1'b1;
    if (rst_i) maximum_group_q <= '0;
  end
  if (HeadGroups == 1) begin : gen_register
    logic [GroupHeads-1:0][ExponentBits-1:0] maxima_q;
    assign stored = maxima_q;
    always_ff @(posedge clk_i) if (valid_q[2]) maxima_q <= larger;
  end else begin : gen_memory
    (* ram_style = "distributed" *) logic [GroupHeads*ExponentBits-1:0] maxima[HeadGroups];
    assign stored = maxima[maximum_group_q];
    always_ff @(posedge clk_i) if (valid_q[2]) maxima[maximum_group_q] <= larger;
  end

  assign ring_write_o    = valid_q[2];
  assign ring_last_o     = last_q[2];
  assign ring_source_o   = source_q[2];
  assign ring_exponent_o = exponent_q;

  // The maximum follows two cycles later, so it never overtakes the ring.
  logic [GroupHeads-1:0][ExponentBits-1:0] maximum_q;
  logic done_q, row_done_q;
  always_ff @(posedge clk_i) begin
    maximum_q    <= larger;
    done_q       <= valid_q[2] && last_q[2] && !rst_i;
    row_done_q   <= valid_q[2] && row_last_q[2] && !rst_i;
    maximum_o    <= maximum_q;
    write_o      <= done_q && !rst_i;
    write_last_o <= row_done_q && !rst_i;
  end
endmodule

`default_nettype wire
