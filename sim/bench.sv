// The bench around a kernel, generated or a vendor's: the reference memory and a cycle counter.
//
// Python (cocotb) drives s_axi_control; main memory answers here, so that whole graphs run at the simulator's speed.
// The memory accepts addresses at once and write data once their address is accepted, sends the first beat of a burst
// `read_latency` cycles after its address and a beat a cycle from there, and answers a write `write_latency` cycles
// after its last beat. With `stall_seed` set, every channel also stalls at random. `coupling` chooses another legal
// subordinate (`coupling_e`). Beats outside the memory answer SLVERR.
//
// A narrow or slow port is a width converter in front of that memory: each beat occupies its channel for `beat_pace`
// / 1024 cycles, and its handshake is in the last of them.
//
// The rules of the bus are assertions of their own, which every simulation binds to the kernel: rules/axi.sv.

`default_nettype none
`timescale 1ns / 1ps

module bench #(
  parameter int unsigned MemoryBeats = 1 << 16,
  parameter int unsigned BeatBytes   = 16,       // of the memory port
  parameter int unsigned AddressBits = 7         // of s_axi_control
) (
  input  wire                    ap_clk,
  input  wire                    ap_rst_n,
  input  wire  [AddressBits-1:0] s_axi_control_AWADDR,
  input  wire                    s_axi_control_AWVALID,
  output logic                   s_axi_control_AWREADY,
  input  wire  [31:0]            s_axi_control_WDATA,
  input  wire  [3:0]             s_axi_control_WSTRB,
  input  wire                    s_axi_control_WVALID,
  output logic                   s_axi_control_WREADY,
  output logic [1:0]             s_axi_control_BRESP,
  output logic                   s_axi_control_BVALID,
  input  wire                    s_axi_control_BREADY,
  input  wire  [AddressBits-1:0] s_axi_control_ARADDR,
  input  wire                    s_axi_control_ARVALID,
  output logic                   s_axi_control_ARREADY,
  output logic [31:0]            s_axi_control_RDATA,
  output logic [1:0]             s_axi_control_RRESP,
  output logic                   s_axi_control_RVALID,
  input  wire                    s_axi_control_RREADY,
  output logic                   interrupt_o,
  // knobs of the memory, set by Python before a run
  input  wire  [15:0]            read_latency_i,
  input  wire  [15:0]            write_latency_i,
  input  wire  [31:0]            stall_seed_i,   // takes effect at a reset
  input  wire  [31:0]            beat_pace_i,    // of a beat of data on either channel, in 1/1024 cycles, 1024 or more
  input  wire  [2:0]             coupling_i,     // a coupling_e
  // first beats of the regions that the kernel reads; a read of one begins a phase. Unused ones are all ones.
  input  wire  [8*32-1:0]        regions_i,
  // reads the file that +blank= names into the memory
  input  wire                    blank_i,
  // the region to write out, in beats
  input  wire                    dump_i,
  input  wire  [31:0]            dump_first_i,
  input  wire  [31:0]            dump_last_i,
  // results
  output logic [63:0]            cycles_o,       // from the accepted start write to the interrupt
  output logic [16*64-1:0]       phase_cycles_o, // when each phase asked for its first beat
  output logic [31:0]            phases_o,
  output logic [63:0]            beats_read_o,
  output logic [63:0]            beats_written_o,
  output logic [31:0]            protocol_errors_o
);
  localparam int unsigned QueueDepth = 16;
  localparam int unsigned PaceBits = 10;         // fraction bits of a time on the ports
  localparam int unsigned BeatBits = 8 * BeatBytes;
  localparam int unsigned AlignBits = $clog2(BeatBytes);

  // ---- the kernel ----
  logic [63:0] araddr, awaddr;
  logic [7:0] arlen, awlen;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst, rresp, bresp;
  logic arvalid, arready, awvalid, awready, rvalid, rready, rlast, wvalid, wready, wlast, bvalid, bready;
  logic [BeatBits-1:0] rdata, wdata;
  logic [BeatBytes-1:0] wstrb;
  logic interrupt_line;
  logic read_side_writes, write_side_reads;

  fgnas_top u_kernel (
    .ap_clk(ap_clk), .ap_rst_n(ap_rst_n),
    .s_axi_control_AWADDR(s_axi_control_AWADDR), .s_axi_control_AWVALID(s_axi_control_AWVALID),
    .s_axi_control_AWREADY(s_axi_control_AWREADY), .s_axi_control_WDATA(s_axi_control_WDATA),
    .s_axi_control_WSTRB(s_axi_control_WSTRB), .s_axi_control_WVALID(s_axi_control_WVALID),
    .s_axi_control_WREADY(s_axi_control_WREADY), .s_axi_control_BRESP(s_axi_control_BRESP),
    .s_axi_control_BVALID(s_axi_control_BVALID), .s_axi_control_BREADY(s_axi_control_BREADY),
    .s_axi_control_ARADDR(s_axi_control_ARADDR), .s_axi_control_ARVALID(s_axi_control_ARVALID),
    .s_axi_control_ARREADY(s_axi_control_ARREADY), .s_axi_control_RDATA(s_axi_control_RDATA),
    .s_axi_control_RRESP(s_axi_control_RRESP), .s_axi_control_RVALID(s_axi_control_RVALID),
    .s_axi_control_RREADY(s_axi_control_RREADY), .interrupt(interrupt_line),
    .m_axi_gmem_read_AWREADY(1'b0), .m_axi_gmem_read_AWVALID(read_side_writes), .m_axi_gmem_read_WREADY(1'b0),
    .m_axi_gmem_read_BRESP(2'b0), .m_axi_gmem_read_BID(1'b0), .m_axi_gmem_read_BUSER(1'b0),
    .m_axi_gmem_read_BVALID(1'b0), .m_axi_gmem_read_ARADDR(araddr), .m_axi_gmem_read_ARLEN(arlen),
    .m_axi_gmem_read_ARSIZE(arsize), .m_axi_gmem_read_ARBURST(arburst), .m_axi_gmem_read_ARVALID(arvalid),
    .m_axi_gmem_read_ARREADY(arready), .m_axi_gmem_read_RDATA(rdata), .m_axi_gmem_read_RRESP(rresp),
    .m_axi_gmem_read_RLAST(rlast), .m_axi_gmem_read_RID(1'b0), .m_axi_gmem_read_RUSER(1'b0),
    .m_axi_gmem_read_RVALID(rvalid), .m_axi_gmem_read_RREADY(rready),
    .m_axi_gmem_write_AWADDR(awaddr), .m_axi_gmem_write_AWLEN(awlen), .m_axi_gmem_write_AWSIZE(awsize),
    .m_axi_gmem_write_AWBURST(awburst), .m_axi_gmem_write_AWVALID(awvalid), .m_axi_gmem_write_AWREADY(awready),
    .m_axi_gmem_write_WDATA(wdata), .m_axi_gmem_write_WSTRB(wstrb), .m_axi_gmem_write_WLAST(wlast),
    .m_axi_gmem_write_WVALID(wvalid), .m_axi_gmem_write_WREADY(wready), .m_axi_gmem_write_BRESP(bresp),
    .m_axi_gmem_write_BID(1'b0), .m_axi_gmem_write_BUSER(1'b0), .m_axi_gmem_write_BVALID(bvalid),
    .m_axi_gmem_write_BREADY(bready), .m_axi_gmem_write_ARREADY(1'b0), .m_axi_gmem_write_ARVALID(write_side_reads),
    .m_axi_gmem_write_RDATA(BeatBits'(0)), .m_axi_gmem_write_RRESP(2'b0), .m_axi_gmem_write_RLAST(1'b0),
    .m_axi_gmem_write_RID(1'b0), .m_axi_gmem_write_RUSER(1'b0), .m_axi_gmem_write_RVALID(1'b0)
  );
  assign interrupt_o = interrupt_line;

  // ---- main memory ----
  logic [BeatBits-1:0] memory[MemoryBeats];
  string image;
  initial if ($value$plusargs("memory=%s", image)) $readmemh(image, memory);

  // Python overwrites the result of the run before.
  string blank;
  always_ff @(posedge ap_clk) begin
    if (blank_i && $value$plusargs("blank=%s", blank)) $readmemh(blank, memory);
  end

  // Python asks for a region, which is written to the file that +dump= names.
  string dump;
  always_ff @(posedge ap_clk) begin
    if (dump_i && $value$plusargs("dump=%s", dump)) $writememh(dump, memory, dump_first_i, dump_last_i);
  end

  // Subordinates that AXI allows. Each accepts and answers whatever a correct manager sends.
  typedef enum logic [2:0] {
    AddressFirst,     // WREADY waits until the burst's address is accepted
    AddressAfterData, // AWREADY waits for WVALID, and WREADY until the address is accepted
    DataFirst,        // AWREADY waits until the last beat of the burst is accepted
    Together,         // AWREADY and the first WREADY of a burst wait until AWVALID and WVALID are both high
    SlowWrites,       // AWREADY comes long after AWVALID, and WREADY long after the address
    LateAnswers,      // BVALID comes long after the last beat
    OneAtATime,       // an address is accepted when the burst before it is complete
    SlowReads         // ARREADY comes long after ARVALID, the first beat long after that, and beats pause
  } coupling_e;
  coupling_e coupling;
  assign coupling = coupling_e'(coupling_i);

  // A stall generator for each channel: a 32-bit xorshift, low half against a threshold.
  function automatic logic [31:0] xorshift(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction
  logic [31:0] random_q[5];
  logic [4:0] stall;
  always_ff @(posedge ap_clk) begin
    for (int c = 0; c < 5; c++) begin
      random_q[c] <= ap_rst_n ? xorshift(random_q[c]) : (stall_seed_i + 32'(c + 1) * 32'h9e3779b9) | 32'd1;
      stall[c]    <= (stall_seed_i != '0) && random_q[c][7];
    end
  end

  // ---- read channel ----
  typedef struct packed {
    logic [63:0] address;  // in beats
    logic [8:0]  beats;
    logic [63:0] due;      // first cycle in which its first beat may be sent
  } burst_t;
  burst_t reads[QueueDepth];
  int unsigned read_head, read_tail;
  logic [63:0] now;
  logic [5:0] ar_wait_q, r_wait_q;  // of SlowReads: cycles that the next address waits, and the next beat
  assign arready = !stall[0] && (read_tail - read_head < QueueDepth) && (coupling != SlowReads || ar_wait_q == '0) &&
      (coupling != OneAtATime || (read_tail == read_head && !rvalid));

  logic [8:0] read_place;
  logic [63:0] read_free, read_sent;  // when the port has sent the last beat, and the next one
  logic read_due;
  always_comb begin
    read_sent = (reads[read_head%QueueDepth].due - 1'b1) << PaceBits;
    read_sent = (read_free > read_sent ? read_free : read_sent) + 64'(beat_pace_i);
    read_due  = (now + 1'b1) << PaceBits >= read_sent;
  end
  always_ff @(posedge ap_clk) begin
    now <= now + 1'b1;
    if (arvalid && ar_wait_q != '0) ar_wait_q <= ar_wait_q - 1'b1;
    if (r_wait_q != '0) r_wait_q <= r_wait_q - 1'b1;
    if (arvalid && arready) begin
      reads[read_tail%QueueDepth] <= '{
        araddr >> AlignBits, 9'(arlen) + 1'b1,
        now + 64'(read_latency_i) + (coupling == SlowReads ? 64'(random_q[1][17:9]) : 64'd0)
      };
      read_tail <= read_tail + 1;
      ar_wait_q <= random_q[0][14:9];
      if (!in_whole_beats(araddr, arsize, arburst)) protocol_errors_o <= protocol_errors_o + 1'b1;
    end
    if (!rvalid || rready) begin
      rvalid <= 1'b0;
      if (read_head != read_tail && read_due && !stall[1] && (coupling != SlowReads || r_wait_q == '0)) begin
        automatic logic [63:0] place = reads[read_head%QueueDepth].address + 64'(read_place);
        rvalid <= 1'b1;
        read_free <= read_sent > now << PaceBits ? read_sent : now << PaceBits;
        rdata  <= memory[place%MemoryBeats];
        rresp  <= (place < MemoryBeats) ? 2'b00 : 2'b10;
        rlast  <= read_place == reads[read_head%QueueDepth].beats - 1'b1;
        beats_read_o <= beats_read_o + 1'b1;
        if (random_q[1][25:20] == '0) r_wait_q <= random_q[1][14:9];
        if (read_place == reads[read_head%QueueDepth].beats - 1'b1) begin
          read_place <= '0;
          read_head  <= read_head + 1;
        end else begin
          read_place <= read_place + 1'b1;
        end
      end
    end
    if (awvalid && awready && !in_whole_beats(awaddr, awsize, awburst)) protocol_errors_o <= protocol_errors_o + 1'b1;
    if (!ap_rst_n) begin
      now               <= '0;
      read_head         <= 0;
      read_tail         <= 0;
      read_place        <= '0;
      read_free         <= '0;
      rvalid            <= 1'b0;
      ar_wait_q         <= '1;
      r_wait_q          <= '0;
      beats_read_o      <= '0;
      protocol_errors_o <= '0;
    end
  end

  // All that this memory serves.
  function automatic logic in_whole_beats(input logic [63:0] address, input logic [2:0] size, input logic [1:0] burst);
    return address[AlignBits-1:0] == '0 && size == 3'(AlignBits) && burst == 2'b01;
  endfunction

  // ---- write channels ----
  typedef struct packed {
    logic [BeatBits-1:0]  data;
    logic [BeatBytes-1:0] enabled;
  } beat_t;
  typedef struct packed {
    logic [63:0] due;
    logic [1:0]  code;
  } answer_t;
  // Accepted, and not yet written because the data or the address is missing; then answers that were not sent.
  burst_t writes[$];
  beat_t beats[$];
  answer_t answers[$];
  logic [8:0] write_place;
  logic write_bad;
  // Their numbers, for the READYs: addresses without all their data, bursts whose data came before their address,
  // whether a burst's data are incomplete, bursts without an answer.
  int unsigned addresses_q, leading_q, answers_q;
  logic within_q;
  logic [5:0] aw_wait_q, w_wait_q;  // of SlowWrites
  logic [31:0] offered_q;           // cycles for which the beat on the channel has been offered
  logic burst_first;                // the next beat is the first of a burst whose address was not accepted
  assign burst_first = !within_q && addresses_q == 0;
  always_comb begin
    awready = !stall[2] && addresses_q < QueueDepth;
    wready  = !stall[3] && addresses_q != 0 && answers_q < QueueDepth;
    unique case (coupling)
      AddressAfterData: awready = awready && wvalid;
      DataFirst: begin
        awready = !stall[2] && leading_q != 0;
        wready  = !stall[3] && leading_q < 2 && answers_q < QueueDepth;
      end
      Together: begin
        awready = !stall[2] && awvalid && wvalid && burst_first;
        wready  = burst_first ? awready : !stall[3];
      end
      SlowWrites: begin
        awready = awready && aw_wait_q == '0;
        wready  = wready && w_wait_q == '0;
      end
      OneAtATime: awready = awready && addresses_q == 0 && answers_q == 0;
      default: ;
    endcase
    wready = wready && (offered_q + 1'b1) << PaceBits >= beat_pace_i;
  end

  always @(posedge ap_clk) begin
    if (!bvalid || bready) begin
      bvalid <= 1'b0;
      if (answers.size() != 0 && now + 1 >= answers[0].due && !stall[4]) begin
        bvalid <= 1'b1;
        bresp  <= answers[0].code;
        void'(answers.pop_front());
      end
    end
    offered_q <= (wvalid && !wready) ? offered_q + 1'b1 : '0;
    if (awvalid && aw_wait_q != '0) aw_wait_q <= aw_wait_q - 1'b1;
    if (w_wait_q != '0) w_wait_q <= w_wait_q - 1'b1;
    if (awvalid && awready) begin
      writes.push_back('{awaddr >> AlignBits, 9'(awlen) + 1'b1, 64'd0});
      aw_wait_q <= random_q[2][14:9];
      w_wait_q  <= random_q[3][14:9];
    end
    if (wvalid && wready) begin
      beats.push_back('{wdata, wstrb});
      within_q <= !wlast;
      beats_written_o <= beats_written_o + 1'b1;
    end
    if (coupling == DataFirst) leading_q <= leading_q + 32'(wvalid && wready && wlast) - 32'(awvalid && awready);
    while (writes.size() != 0 && beats.size() != 0) begin
      automatic logic [63:0] place = writes[0].address + 64'(write_place);
      automatic beat_t beat = beats.pop_front();
      for (int b = 0; b < BeatBytes; b++) begin
        if (beat.enabled[b] && place < MemoryBeats) memory[place%MemoryBeats][8*b+:8] <= beat.data[8*b+:8];
      end
      write_bad   = (write_place != '0 && write_bad) || place >= MemoryBeats;
      write_place = write_place + 1'b1;
      if (write_place == writes[0].beats) begin
        answers.push_back('{
          now + 64'(write_latency_i) + (coupling == LateAnswers ? 64'(random_q[4][17:9]) : 64'd0),
          write_bad ? 2'b10 : 2'b00
        });
        write_place = '0;
        void'(writes.pop_front());
      end
    end
    if (!ap_rst_n) begin
      writes.delete();
      beats.delete();
      answers.delete();
      write_place = '0;
      offered_q       <= '0;
      within_q        <= 1'b0;
      leading_q       <= 0;
      aw_wait_q       <= '1;
      w_wait_q        <= '0;
      bvalid          <= 1'b0;
      beats_written_o <= '0;
    end
    addresses_q <= writes.size();
    answers_q   <= answers.size();
  end

  // ---- cycles, from the accepted start write to the interrupt ----
  logic [AddressBits-1:0] address_q;
  logic counting, interrupt_q, started;
  logic [63:0] count;
  assign started = s_axi_control_WVALID && s_axi_control_WREADY && s_axi_control_WDATA[0] &&
      ((s_axi_control_AWVALID && s_axi_control_AWREADY) ? s_axi_control_AWADDR == '0 : address_q == '0);
  logic begins_phase;
  always_comb begin
    begins_phase = 1'b0;
    for (int r = 0; r < 8; r++) if (araddr >> AlignBits == 64'(regions_i[32*r+:32])) begins_phase = 1'b1;
  end
  always_ff @(posedge ap_clk) begin
    if (s_axi_control_AWVALID && s_axi_control_AWREADY) address_q <= s_axi_control_AWADDR;
    interrupt_q <= interrupt_line;
    count       <= count + 1'b1;
    if (started) begin
      counting <= 1'b1;
      count    <= 64'd1;
    end else if (counting && interrupt_line && !interrupt_q) begin
      counting <= 1'b0;
      cycles_o <= count;
    end
    if (started) begin
      phases_o <= '0;
    end else if (arvalid && arready && phases_o < 32'd16 && begins_phase) begin
      phase_cycles_o[64*phases_o+:64] <= count;
      phases_o <= phases_o + 1'b1;
    end
    if (!ap_rst_n) begin
      counting    <= 1'b0;
      interrupt_q <= 1'b0;
      address_q   <= '1;
      phases_o    <= '0;
    end
  end
endmodule

`default_nettype wire
