// Runs the phases one after the other. Phase 0 is the first linear stage, phase l the aggregation of layer l - 1 and
// the stages after it; the last phase writes logits. A refusal is reported in the status bits; nothing is written
// after one, and the kernel always ends.

`default_nettype none

module fgnas_sequencer #(
  parameter int unsigned Layers         = 2,
  parameter int unsigned NodeCapacity   = 3072,
  parameter int unsigned ParameterBeats = 1000,
  parameter int unsigned LogitBeats     = 1      // of a node
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire                                start_i,
  input  wire                                stop_i,
  output logic                               idle_o,
  output logic                               done_o,
  output logic [fgnas_pkg::RegisterBits-1:0] status_o,
  input  wire  [fgnas_pkg::RegisterBits-1:0] nodes_i,
  input  wire  [fgnas_pkg::RegisterBits-1:0] feature_beats_i,
  input  wire  [fgnas_pkg::RegisterBits-1:0] edge_beats_i,
  input  wire  [fgnas_pkg::AddressBits-1:0]  parameters_i,
  input  wire  [fgnas_pkg::AddressBits-1:0]  features_i,
  input  wire  [fgnas_pkg::AddressBits-1:0]  edges_i,
  /* verilator lint_off UNUSEDSIGNAL */  // checked for alignment only
  input  wire  [fgnas_pkg::AddressBits-1:0]  logits_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                               stage_reset_o,  // between runs
  output logic                               load_o,         // the front beats are parameters
  output logic [Layers:0]                    rows_left_o,    // one bit a phase: the beats in front are its rows
  output logic                               read_start_o,
  output logic                               read_cancel_o,
  output logic [fgnas_pkg::AddressBits-1:0]  read_address_o,
  output logic [fgnas_pkg::RegisterBits-1:0] read_beats_o,
  input  wire                                read_outstanding_i,
  input  wire                                read_drained_i,
  input  wire                                read_pop_i,
  output logic                               write_start_o,
  output logic                               write_flush_o,
  output logic [fgnas_pkg::RegisterBits-1:0] write_beats_o,
  input  wire                                write_done_i,
  input  wire  [Layers-1:0]                  store_done_i,
  input  wire                                row_issued_i,   // by the stage that reads the beats
  input  wire                                degree_error_i,
  input  wire                                source_error_i,
  input  wire                                column_error_i,
  input  wire                                read_error_i,
  input  wire                                write_error_i
);
  typedef enum logic [2:0] {Idle, Check, Load, Run, Abort, Done} state_e;

  state_e state_q;
  logic [Layers:0] phase_q;  // one-hot, zero outside Run
  logic first_q;  // first cycle of Load or of a phase
  logic [fgnas_pkg::RegisterBits-1:0] count_q;  // beats loaded, or rows issued in this phase
  logic [8:0] status_q;
  logic output_phase, refused, stopped, starved, failed, phase_done;

  assign output_phase  = phase_q[Layers];
  assign idle_o        = state_q == Idle;
  assign done_o        = state_q == Done;
  assign status_o      = {23'b0, status_q};
  assign stage_reset_o = rst_i || state_q == Idle || state_q == Check || state_q == Done;
  assign load_o        = (state_q == Load) && !first_q;  // a beat that the last run left in front is no parameter

  assign read_start_o   = first_q;
  assign read_cancel_o  = (state_q == Abort) || (phase_done && !first_q);
  assign write_start_o  = first_q && output_phase;
  assign write_flush_o  = state_q == Abort;
  assign write_beats_o  = nodes_i * LogitBeats;
  assign read_address_o = (state_q == Load) ? parameters_i : phase_q[0] ? features_i : edges_i;
  assign read_beats_o   = (state_q == Load) ? ParameterBeats : phase_q[0] ? feature_beats_i : edge_beats_i;

  always_comb begin
    phase_done = 1'b0;
    for (int unsigned p = 0; p < Layers; p++) begin
      if (phase_q[p]) phase_done = store_done_i[p];
    end
    if (output_phase) phase_done = write_done_i && !first_q;
  end

  localparam int unsigned AlignBits = fgnas_pkg::AlignBits;
  logic [AlignBits-1:0] unaligned;
  assign unaligned = parameters_i[AlignBits-1:0] | features_i[AlignBits-1:0] |
                     edges_i[AlignBits-1:0] | logits_i[AlignBits-1:0];
  assign refused   = (nodes_i > NodeCapacity) || (unaligned != '0);
  assign stopped   = stop_i && (state_q == Load || state_q == Run);
  assign starved   = (state_q == Run) && !first_q && read_drained_i && (rows_left_o != '0);
  assign failed    = degree_error_i || source_error_i || column_error_i || read_error_i || starved || stopped;

  always_ff @(posedge clk_i) begin
    first_q <= 1'b0;
    if (first_q) count_q <= '0;
    else if (load_o ? read_pop_i : row_issued_i) count_q <= count_q + 1'b1;
    if (first_q) rows_left_o <= phase_q;
    else if (row_issued_i && (count_q + 1'b1) == nodes_i) rows_left_o <= '0;

    if (degree_error_i) status_q[fgnas_pkg::StatusDegreeOverCapacity] <= 1'b1;
    if (starved) status_q[fgnas_pkg::StatusStreamTooShort] <= 1'b1;
    if (read_error_i) status_q[fgnas_pkg::StatusReadError] <= 1'b1;
    if (write_error_i) status_q[fgnas_pkg::StatusWriteError] <= 1'b1;
    if (source_error_i) status_q[fgnas_pkg::StatusSourceOutOfRange] <= 1'b1;
    if (column_error_i) status_q[fgnas_pkg::StatusColumnOutOfRange] <= 1'b1;
    if (stopped) status_q[fgnas_pkg::StatusStopped] <= 1'b1;

    unique case (state_q)
      Idle: begin
        count_q <= '0;
        if (start_i) begin
          state_q  <= Check;
          status_q <= '0;
        end
      end
      Check: begin
        status_q[fgnas_pkg::StatusNodesOverCapacity] <= nodes_i > NodeCapacity;
        status_q[fgnas_pkg::StatusUnalignedAddress] <= unaligned != '0;
        if (refused || nodes_i == '0) begin
          state_q <= Done;
        end else begin
          state_q <= Load;
          first_q <= 1'b1;
        end
      end
      Load: begin
        if (read_error_i || stopped) begin
          state_q <= Abort;
        end else if (read_pop_i && count_q == ParameterBeats - 1) begin
          state_q    <= Run;
          phase_q[0] <= 1'b1;
          first_q    <= 1'b1;
        end
      end
      Run: begin
        if (failed) begin
          state_q     <= Abort;
          phase_q     <= '0;
          rows_left_o <= '0;
        end else if (phase_done && !read_outstanding_i) begin
          if (output_phase) state_q <= Done;
          else first_q <= 1'b1;
          phase_q <= phase_q << 1;
        end
      end
      Abort: if (!read_outstanding_i && write_done_i) state_q <= Done;
      default: state_q <= Idle;
    endcase

    if (rst_i) begin
      state_q     <= Idle;
      first_q     <= 1'b0;
      phase_q     <= '0;
      rows_left_o <= '0;
      status_q    <= '0;
    end
  end
endmodule

`default_nettype wire
