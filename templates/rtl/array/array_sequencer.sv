// Fetches the programme and runs its descriptors one after the other. A refusal is reported in the status bits, and the
// kernel always ends.

`default_nettype none

module array_sequencer #(
  parameter int unsigned Programme = 16,   // descriptors that the kernel holds
  parameter int unsigned Units     = 8,    // side by side, at most
  parameter int unsigned Modes     = 2,
  parameter logic [Modes-1:0][3:0] LogN = '0,
  parameter logic [Modes-1:0][3:0] LogK = '0,  // for nearest points
  parameter int unsigned Tiles     = 1,
  parameter int unsigned Shifts    = 2,
  parameter bit          Maximum   = 1'b0,
  parameter bit          Tables    = 1'b0, // activation tables
  parameter bit          Softmax   = 1'b0, // attention with scores
  parameter bit          Residual  = 1'b0, // finished rows can add own rows
  parameter bit          Partial   = 1'b0, // sums that are not finished are kept
  parameter bit          Symmetric = 1'b0, // with scores of both ways round
  parameter bit          Dot       = 1'b0, // with scores of edges
  parameter bit          Pair      = 1'b0, // which can be made of functions of two nodes' features
  parameter int unsigned Neighbours = 0    // nearest points of a row, at most; none are found without
) (
  input  wire               clk_i,
  input  wire               rst_i,
  input  wire               start_i,
  output logic              idle_o,
  output logic              done_o,
  output logic [31:0]       status_o,
  input  wire  [31:0]       descriptors_i,
  input  wire  [63:0]       programme_i,
  input  wire  [63:0]       parameters_i,
  input  wire  [63:0]       features_i,
  input  wire  [63:0]       edges_i,
  /* verilator lint_off UNUSEDSIGNAL */  // checked for alignment only
  input  wire  [63:0]       logits_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic              stage_reset_o,    // between runs
  output array_pkg::descriptor_t descriptor_o,
  output logic              begin_o,          // a descriptor begins
  output logic              read_start_o,
  output logic              read_cancel_o,
  output logic [63:0]       read_address_o,
  output logic [31:0]       read_beats_o,
  input  wire               read_outstanding_i,
  input  wire               read_drained_i,
  input  wire               beat_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // a descriptor does not fill its beats
  input  wire  fgnas_pkg::beat_t beat_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic              pop_o,            // a beat of the programme is taken
  output logic              write_start_o,
  output logic              write_flush_o,
  input  wire               write_done_i,
  input  wire               hungry_i,         // the descriptor needs more beats
  input  wire               finished_i,       // everything is issued
  input  wire               empty_i,          // every result is written
  input  wire               searching_i,      // nearest points are to come
  input  wire               broken_i,
  input  wire               index_error_i,
  input  wire               over_i,
  input  wire               read_error_i,
  input  wire               write_error_i
);
  import array_pkg::*;

  typedef enum logic [3:0] {Idle, Check, Fetch, Decode, Address, Begin, Run, Abort, Done} state_e;
  localparam int unsigned PlaceBits = $clog2(Programme) + 1;

  state_e state_q;
  logic first_q;                       // first cycle of Fetch
  logic [PlaceBits:0] beat_q;          // beat of the programme that is fetched next
  logic [PlaceBits-1:0] place_q;       // descriptor that is run
  logic [StatusBits-1:0] status_q;
  localparam int unsigned StoredBits = Softmax ? DescriptorBits : PlainBits;
  logic [StoredBits-1:0] next;
  descriptor_t d_q;
  assign descriptor_o  = d_q;
  assign idle_o        = state_q == Idle;
  assign done_o        = state_q == Done;
  assign status_o      = 32'(status_q);
  assign stage_reset_o = rst_i || state_q == Idle || state_q == Check || state_q == Done;

  assign pop_o = state_q == Fetch && !first_q && beat_valid_i;
  if (DescriptorBeats == 2) begin : gen_halves
    localparam int unsigned LowBits = fgnas_pkg::BeatBits;
    (* ram_style = "distributed" *) logic [LowBits-1:0] low[Programme];
    (* ram_style = "distributed" *) logic [StoredBits-LowBits-1:0] high[Programme];
    always_ff @(posedge clk_i) begin
      if (pop_o && !beat_q[0]) low[beat_q[PlaceBits-1:1]] <= beat_i;
      if (pop_o && beat_q[0]) high[beat_q[PlaceBits-1:1]] <= beat_i[StoredBits-LowBits-1:0];
    end
    assign next = {high[place_q[PlaceBits-2:0]], low[place_q[PlaceBits-2:0]]};
  end else begin : gen_whole
    (* ram_style = "distributed" *) logic [StoredBits-1:0] whole[Programme];
    always_ff @(posedge clk_i) if (pop_o) whole[beat_q[PlaceBits-2:0]] <= beat_i[StoredBits-1:0];
    assign next = whole[place_q[PlaceBits-2:0]];
  end

  logic streams, logits, attends, dots, scores, messages, gathers, samples;
  logic [63:0] base, address_q;
  assign attends  = Softmax && d_q.operation == 2'(OperationAttend);
  assign dots     = Dot && d_q.dot != '0;
  assign scores   = attends && d_q.attention == 2'(AttentionScores) && !dots;  // of nodes
  assign messages = attends && d_q.attention == 2'(AttentionMessages);
  assign gathers  = Neighbours > 0 && d_q.operation == 2'(OperationSparse) && d_q.region == 2'(RegionNeighbours);
  assign samples  = Neighbours > 0 && d_q.operation == 2'(OperationDense) && d_q.sample != '0;
  assign streams  = d_q.operation != 2'(OperationDense) && !scores && !gathers;
  assign logits   = streams && (d_q.operation == 2'(OperationSparse) || messages) &&
                    d_q.target == 3'(TargetLogits);
  always_comb begin
    unique case (d_q.region)
      2'(RegionParameters): base = parameters_i;
      2'(RegionFeatures):   base = features_i;
      default:              base = edges_i;
    endcase
  end

  // A descriptor that this engine cannot run.
  logic bad_q, loads, bad_target, bad_mode, bad_step, bad_pair, bad_residual, bad_neighbours, sums, narrow, whole_words;
  logic [3:0] log_n;
  logic alone;  // every unit is a group
  always_comb begin
    log_n = '0;
    alone = 1'b0;
    for (int unsigned m = 0; m < Modes; m++) begin
      if (d_q.mode == ModeBits'(m)) log_n = LogN[m];
      if (d_q.mode == ModeBits'(m)) alone = LogN[m] == '0 && LogK[m] == '0;
    end
  end
  // A row takes more words of a unit that reads it than it has place for.
  assign narrow     = (d_q.tiles - 1'b1) >> (4'(d_q.target_columns) - log_n) >= d_q.target_tiles;
  assign loads      = d_q.operation == 2'(OperationLoad);
  assign bad_mode   = 32'(d_q.mode) >= Modes;
  always_comb begin
    unique case (d_q.attention)
      2'(AttentionScores):   bad_step = d_q.target != (dots ? 3'(TargetOwn) : 3'(TargetTable)) ||
                                        d_q.tiles != TileBits'(1) || d_q.entries == '0 || d_q.reduce != '0 ||
                                        (dots ? 32'(d_q.entries) > Tiles : d_q.entries[0]);
      2'(AttentionMaxima):   bad_step = d_q.target != 3'(TargetOwn) || d_q.tiles != TileBits'(1) || d_q.reduce == '0;
      2'(AttentionMessages): bad_step = d_q.target == 3'(TargetTable);
      default:               bad_step = !dots || d_q.target != 3'(TargetOwn) || d_q.reduce != '0;  // queries
    endcase
  end
  assign bad_pair   = !(Pair && attends && dots && d_q.attention == 2'(AttentionQueries));
  // Sums that can go on from partial ones, or be kept.
  assign sums       = Partial && (d_q.operation == 2'(OperationSparse) || d_q.operation == 2'(OperationDense));
  // A unit finishes the rows of a stream in the order in which it holds its own.
  assign bad_residual = d_q.operation != 2'(OperationSparse) || 32'(d_q.residual_shift) >= Shifts ||
                        (d_q.target != 3'(TargetOwn) && d_q.target != 3'(TargetLogits) &&
                         !(Neighbours > 0 && d_q.target == 3'(TargetTable)));
  // Chains stand alone: each unit has whole rows, and its own neighbours.
  assign bad_neighbours = (gathers || samples) ? 32'(d_q.entries) == 0 || !alone ||
                              (samples && (d_q.target != 3'(TargetNeighbours) || 32'(d_q.bias_base) > Neighbours || d_q.bias_base == '0 ||
                                           32'(d_q.bias_base) > 32'(d_q.entries)))
                          : d_q.region == 2'(RegionNeighbours) || d_q.sample != '0;
  assign whole_words  = samples || 32'(d_q.tiles) <= Tiles;
  assign bad_target = loads ? (d_q.target != 3'(TargetTable) && d_q.target != 3'(TargetBias) &&
                               !(Softmax && d_q.target == 3'(TargetOwn)) &&
                               !(Tables && d_q.target == 3'(TargetActivation)))
                            : ((d_q.target > 3'(TargetLogits) && !(sums && d_q.target == 3'(TargetPartial)) &&
                                !(samples && d_q.target == 3'(TargetNeighbours))) ||
                               (d_q.target == 3'(TargetLogits) && (log_n != '0 || !streams)) ||
                               (d_q.target == 3'(TargetOwn) && d_q.target_tiles < d_q.tiles) ||
                               (d_q.target == 3'(TargetTable) && (log_n > 4'(d_q.target_columns) || narrow)));
  always_ff @(posedge clk_i) begin
    address_q <= base + (64'(d_q.offset) << fgnas_pkg::AlignBits);
    bad_q     <= bad_mode || bad_target || bad_neighbours || d_q.count == '0 ||
                 (d_q.operation == 2'(OperationAttend) && (!Softmax || bad_step || d_q.head_tiles == '0)) ||
                 (attends && !Symmetric && d_q.symmetric != '0) || (attends && !Dot && d_q.dot != '0) ||
                 d_q.tiles == '0 || !whole_words || d_q.target_tiles == '0 ||
                 32'(d_q.shift) >= Shifts || (d_q.reduce != '0 && !Maximum) || d_q.bits < 5'd2 || d_q.bits > 5'd16 ||
                 (d_q.accumulate != '0 && !sums) || (d_q.pair != '0 && bad_pair) || d_q.spare_high != '0 ||
                 (Neighbours == 0 && {d_q.minus, d_q.negate} != '0) || (d_q.minus != '0 && d_q.residual == '0) ||
                 (Residual ? d_q.residual != '0 && bad_residual : {d_q.residual, d_q.residual_shift} != '0) ||
                 d_q.activation == 2'd3 || (d_q.activation == 2'(ActivationTable) && !Tables) ||
                 (d_q.operation == 2'(OperationDense) && d_q.entries == '0) || (1 << d_q.target_columns) > Units ||
                 (logits && d_q.result_beats == '0);
  end

  assign begin_o        = state_q == Begin && !bad_q;
  assign read_start_o   = (state_q == Fetch && first_q) || (begin_o && streams);
  assign read_address_o = (state_q == Fetch) ? programme_i : address_q;
  assign read_beats_o   = (state_q == Fetch) ? descriptors_i << $clog2(DescriptorBeats) : 32'(d_q.beats);
  assign write_start_o  = begin_o && logits;
  assign write_flush_o  = state_q == Abort;

  logic phase_done, starved, broken, refused, failed;
  logic [fgnas_pkg::AlignBits-1:0] unaligned;
  assign unaligned     = programme_i[fgnas_pkg::AlignBits-1:0] | parameters_i[fgnas_pkg::AlignBits-1:0] |
                         features_i[fgnas_pkg::AlignBits-1:0] | edges_i[fgnas_pkg::AlignBits-1:0] |
                         logits_i[fgnas_pkg::AlignBits-1:0];
  assign refused       = descriptors_i > Programme || unaligned != '0;
  assign phase_done    = state_q == Run && finished_i && empty_i && !searching_i && (!logits || write_done_i);
  assign starved       = state_q == Run && read_drained_i && hungry_i;
  assign broken        = state_q == Run && broken_i;
  assign failed        = starved || broken || index_error_i || over_i || read_error_i;
  assign read_cancel_o = state_q == Abort || phase_done;

  always_ff @(posedge clk_i) begin
    first_q <= 1'b0;
    if (starved) status_q[StatusStreamTooShort] <= 1'b1;
    if (read_error_i) status_q[StatusReadError] <= 1'b1;
    if (write_error_i) status_q[StatusWriteError] <= 1'b1;
    if (index_error_i) status_q[StatusIndexOutOfRange] <= 1'b1;
    if (broken) status_q[StatusScheduleBroken] <= 1'b1;
    if (over_i) status_q[StatusMemoryOverCapacity] <= 1'b1;

    unique case (state_q)
      Idle: begin
        beat_q  <= '0;
        place_q <= '0;
        if (start_i) begin
          state_q  <= Check;
          status_q <= '0;
        end
      end
      Check: begin
        status_q[StatusProgrammeOverCapacity] <= descriptors_i > Programme;
        status_q[StatusUnalignedAddress]      <= unaligned != '0;
        first_q <= 1'b1;
        state_q <= (refused || descriptors_i == '0) ? Done : Fetch;
      end
      Fetch: begin
        if (pop_o) beat_q <= beat_q + 1'b1;
        if (read_error_i) state_q <= Abort;
        else if (pop_o && 32'(beat_q) == read_beats_o - 1) state_q <= Decode;
      end
      Decode: begin
        d_q     <= DescriptorBits'(next);
        place_q <= place_q + 1'b1;
        state_q <= read_error_i ? Abort : Address;
      end
      Address: state_q <= Begin;
      Begin: begin
        if (bad_q) status_q[StatusBadDescriptor] <= 1'b1;
        state_q <= bad_q ? Abort : Run;
      end
      Run: begin
        if (failed) state_q <= Abort;
        else if (phase_done && !read_outstanding_i) state_q <= (32'(place_q) == descriptors_i) ? Done : Decode;
      end
      Abort: if (!read_outstanding_i && write_done_i) state_q <= Done;
      default: state_q <= Idle;
    endcase

    if (rst_i) begin
      state_q  <= Idle;
      first_q  <= 1'b0;
      status_q <= '0;
    end
  end
endmodule

`default_nettype wire
