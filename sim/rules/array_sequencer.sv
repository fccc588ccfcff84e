// The rules of the sequencer: descriptors run one after the other and only where the check is right, a failure is said, a
// stop is heeded, and a programme ends.

`default_nettype none

module array_sequencer_rules #(
  parameter int unsigned Programme = 16
) (
  input wire        clk_i,
  input wire        rst_i,
  input wire        start_i,
  input wire        stop_i,
  input wire        right_i,   // the check is that of the host
  input wire        seed_i,    // the check is the engine's
  input wire [31:0] host_check_i,
  input wire [31:0] descriptors_i,
  input wire        idle_i,
  input wire        done_i,
  input wire [31:0] status_i,
  input wire        check_i,   // the states, by name
  input wire        fetch_i,
  input wire        decode_i,
  input wire        address_i,
  input wire        begin_i,
  input wire        run_i,
  input wire        abort_i,
  input wire        pop_i,
  input wire        begins_i,
  input wire        read_start_i,
  input wire        write_start_i,
  input wire        write_flush_i,
  input wire        stage_reset_i,
  input wire        leaves_i,  // nothing is waited for in Run
  input wire        outstanding_i,
  input wire        write_done_i,
  input wire [$clog2(Programme)+1:0] beat_q_i,
  input wire [$clog2(Programme):0]   place_q_i
);
  logic seen_q = 1'b0;  // a reset
  logic fails_q;        // the run has failed
  logic stops_q;        // the run was told to stop
  always_ff @(posedge clk_i) begin
    fails_q <= abort_i;
    stops_q <= stop_i && (fetch_i || run_i);
    if (rst_i) begin
      seen_q  <= 1'b1;
      fails_q <= 1'b0;
      stops_q <= 1'b0;
    end
    if (seen_q && !rst_i) begin
      in_programme: assert (!(run_i || begin_i || address_i) || (place_q_i != '0 && 32'(place_q_i) <= Programme))
      else $error("a descriptor behind the programme runs");
      failure_said: assert (!(done_i && fails_q) || status_i != '0) else $error("a run fails without a status");
      checked: assert (!(begins_i || run_i) || right_i) else $error("a programme runs whose check is wrong");
      checked_none: assert (!(done_i && status_i == '0) || right_i) else $error("a programme ends well whose check is wrong");
      stop_heeded: assert (!stops_q || (abort_i && status_i[array_pkg::StatusStopped]))
      else $error("a stop is not heeded");
      begins_in_begin: assert (!begins_i || begin_i) else $error("a descriptor begins out of its turn");
      reads_in_turn: assert (!read_start_i || fetch_i || begins_i) else $error("a region is read that no descriptor names");
      writes_in_turn: assert (!write_start_i || begins_i) else $error("a region is written that no descriptor names");
      flushes_failures: assert (write_flush_i == abort_i) else $error("logits are flushed in a run that has not failed");
      at_work: assert (!(begin_i || run_i || abort_i) || !stage_reset_i) else $error("a run is reset");
    end
  end

`ifdef PROVE_ARRAY_SEQUENCER
  // In every cycle of a run it waits for others, or a number falls that is never negative: so the run ends.
  localparam int unsigned Beats = 32'(array_pkg::DescriptorBeats);
  localparam int unsigned Most = 6 * Programme + Beats * Programme + 4;
  logic [31:0] left, rank, rank_q;
  logic waits, waits_q, idle_q;
  assign left = descriptors_i - 32'(place_q_i);
  always_comb begin
    rank = '0;
    if (done_i) rank = 32'd1;
    if (abort_i) rank = 32'd2;
    if (run_i) rank = 6 * left + 5;
    if (begin_i) rank = 6 * left + 6;
    if (address_i) rank = 6 * left + 7;
    if (decode_i) rank = 6 * left + 2;
    if (fetch_i) rank = 6 * descriptors_i + 3 + Beats * descriptors_i - 32'(beat_q_i);
    if (check_i) rank = Most;
  end
  assign waits = (fetch_i && !pop_i) || (run_i && !leaves_i) || (abort_i && !(write_done_i && !outstanding_i));
  logic [31:0] descriptors_q, check_q;
  logic kept_q;  // arguments keep their values
  always_ff @(posedge clk_i) begin
    rank_q        <= rank;
    waits_q       <= waits;
    idle_q        <= idle_i;
    descriptors_q <= descriptors_i;
    check_q       <= host_check_i;
    kept_q        <= !idle_i || start_i;
    if (rst_i) idle_q <= 1'b1;
    if (rst_i) kept_q <= 1'b0;
    if (!seen_q) begin
      begins_with_reset: assume (rst_i);
    end
    if (seen_q && !rst_i) begin
      arguments_stay: assume (!kept_q || (descriptors_i == descriptors_q && host_check_i == check_q));
      seeded: assert (!(idle_i || check_i) || seed_i);
      ranked: assert (rank <= Most && idle_i == (rank == '0));
      falls: assert (idle_q || rank < rank_q || (waits_q && rank <= rank_q)) else $error("a run does not come nearer its end");
      fits: assert (idle_i || check_i || done_i || abort_i || (descriptors_i != '0 && 32'(descriptors_i) <= Programme));
      fetched: assert (!fetch_i || 32'(beat_q_i) < Beats * descriptors_i);
      left_some: assert (!decode_i || 32'(place_q_i) < descriptors_i);
      left_all: assert (!(address_i || begin_i || run_i) || (place_q_i != '0 && 32'(place_q_i) <= descriptors_i));
      begin_place: assert (!(check_i || fetch_i) || place_q_i == '0);
      begin_beat: assert (!check_i || beat_q_i == '0);
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_last: assert (!(run_i && 32'(place_q_i) == Programme));
      reach_end: assert (!(done_i && status_i == '0 && descriptors_i != '0));
      reach_failure: assert (!(done_i && fails_q));
      reach_stop: assert (!stops_q);
      reach_wrong: assert (!(done_i && status_i[array_pkg::StatusWrongProgrammeOrEngine]));
    end
  end
`endif
endmodule

bind array_sequencer array_sequencer_rules #(.Programme(Programme)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .stop_i(stop_i), .right_i(check_q == check_i),
  .seed_i(check_q == Engine), .host_check_i(check_i), .descriptors_i(descriptors_i), .idle_i(idle_o), .done_i(done_o), .status_i(status_o),
  .check_i(state_q == Check), .fetch_i(state_q == Fetch), .decode_i(state_q == Decode), .address_i(state_q == Address),
  .begin_i(state_q == Begin), .run_i(state_q == Run), .abort_i(state_q == Abort), .pop_i(pop_o),
  .begins_i(begin_o), .read_start_i(read_start_o), .write_start_i(write_start_o), .write_flush_i(write_flush_o),
  .stage_reset_i(stage_reset_o), .leaves_i(failed || (phase_done && !read_outstanding_i)),
  .outstanding_i(read_outstanding_i), .write_done_i(write_done_i), .beat_q_i(beat_q), .place_q_i(place_q)
);

`default_nettype wire
