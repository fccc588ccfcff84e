// An SDR SDRAM of 4 banks of 8192 rows of 512 words of 16 bits, as the MT48LC16M16A2 and the IS42S16160 are: commands,
// masks, a CAS latency of 2 and bursts of one word. It takes what its pins show at the falling edge of the system's
// clock, which stands for a clock of its own that is late by a part of a period.
//
// It holds its user to the times of LiteDRAM's MT48LC16M16 and of its data sheet (speed grade -75) by assertions: the
// start-up with its pause, rows open and closed, the times between commands, as many refreshes as rows in 64 ms.

`default_nettype none
`timescale 1ns / 1ps

module board_chip #(
  parameter int unsigned ClockHz = 50_000_000
) (
  input  wire         clk_i,
  input  wire         cke_i,
  input  wire         cs_ni,
  input  wire         ras_ni,
  input  wire         cas_ni,
  input  wire         we_ni,
  input  wire  [1:0]  ba_i,
  input  wire  [12:0] a_i,
  input  wire  [1:0]  dm_i,
  input  wire  [15:0] dq_i,
  input  wire         dq_driven_i,
  output logic [15:0] dq_o
);
  // Cycles of at least so many nanoseconds.
  function automatic longint unsigned cycles(input longint unsigned ns);
    return (ns * 64'(ClockHz) + 64'd999_999_999) / 64'd1_000_000_000;
  endfunction
  localparam longint unsigned PowerUp = cycles(100_000), Rcd = cycles(20), Rp = cycles(20), Ras = cycles(44),
      Rc = cycles(66), Rfc = cycles(66), Rrd = cycles(15), Wr = cycles(15), Mrd = 2, RefreshPeriod = cycles(64_000_000);
  localparam int unsigned Rows = 8192;

  logic [15:0] memory[1 << 24];
  logic [3:0] open_q = '0;
  logic [3:0][12:0] row_q;
  longint unsigned now_q = 0, mode_at_q = 0, refreshed_at_q = 0, enabled_at_q = 0, activated_q = 0;
  longint unsigned opened_at_q[4], closed_at_q[4], written_at_q[4];
  longint unsigned refresh_times_q[Rows];  // of the last refreshes
  int unsigned refreshes_q = 0;
  logic mode_set_q = 1'b0, enabled_q = 1'b0, read_q = 1'b0;
  logic [15:0] read_data_q;

  logic [23:0] place;
  assign place = {ba_i, row_q[ba_i], a_i[8:0]};

  initial begin
    for (int b = 0; b < 4; b++) begin
      opened_at_q[b]  = 0;
      closed_at_q[b]  = 0;
      written_at_q[b] = 0;
    end
  end

  always @(negedge clk_i) begin
    now_q  <= now_q + 1;
    read_q <= 1'b0;
    // The word that was asked for in the cycle before the last one; nothing right otherwise.
    dq_o   <= read_q ? read_data_q : 16'hdead;
    if (cke_i && !enabled_q) begin
      enabled_q    <= 1'b1;
      enabled_at_q <= now_q;
    end
    if (cke_i && enabled_q && !cs_ni) begin
      if ({ras_ni, cas_ni, we_ni} != 3'b111) begin
        waits_at_first: assert (now_q >= enabled_at_q + PowerUp) else $error("SDRAM: a command within the pause");
        mode_is_taken: assert (!mode_set_q || now_q >= mode_at_q + Mrd) else $error("SDRAM: tMRD");
        refresh_ends: assert (refreshes_q == 0 || now_q >= refreshed_at_q + Rfc) else $error("SDRAM: tRFC");
      end
      unique case ({ras_ni, cas_ni, we_ni})
        3'b000: begin
          mode_when_closed: assert (open_q == '0) else $error("SDRAM: a mode is set while a row is open");
          mode_known: assert (a_i[2:0] == 3'b000 && a_i[6:4] == 3'd2) else $error("SDRAM: no such mode here");
          mode_set_q <= 1'b1;
          mode_at_q  <= now_q;
        end
        3'b001: begin
          refresh_when_closed: assert (open_q == '0) else $error("SDRAM: a refresh while a row is open");
          for (int b = 0; b < 4; b++) begin
            refresh_after_precharge: assert (now_q >= closed_at_q[b] + Rp) else $error("SDRAM: tRP before a refresh");
          end
          refreshed_at_q <= now_q;
          refreshes_q    <= refreshes_q + 1;
          refresh_times_q[refreshes_q%Rows] <= now_q;
          if (refreshes_q >= Rows) begin
            refreshed_in_time: assert (now_q - refresh_times_q[refreshes_q%Rows] <= RefreshPeriod)
            else $error("SDRAM: fewer refreshes than rows in 64 ms");
          end
        end
        3'b010: begin
          for (int b = 0; b < 4; b++) begin
            if (a_i[10] || ba_i == 2'(b)) begin
              if (open_q[b]) begin
                open_long_enough: assert (now_q >= opened_at_q[b] + Ras) else $error("SDRAM: tRAS");
                written_before: assert (now_q >= written_at_q[b] + Wr) else $error("SDRAM: tWR");
                closed_at_q[b] <= now_q;
              end
              open_q[b] <= 1'b0;
            end
          end
        end
        3'b011: begin
          opened_when_closed: assert (!open_q[ba_i]) else $error("SDRAM: a row is opened while another is open");
          opened_after_mode: assert (mode_set_q && refreshes_q >= 2) else $error("SDRAM: used before its start-up");
          precharged: assert (now_q >= closed_at_q[ba_i] + Rp) else $error("SDRAM: tRP");
          opened_again: assert (now_q >= opened_at_q[ba_i] + Rc || opened_at_q[ba_i] == 0) else $error("SDRAM: tRC");
          other_opened: assert (now_q >= activated_q + Rrd || activated_q == 0) else $error("SDRAM: tRRD");
          open_q[ba_i]      <= 1'b1;
          row_q[ba_i]       <= a_i;
          opened_at_q[ba_i] <= now_q;
          activated_q       <= now_q;
        end
        3'b101, 3'b100: begin
          in_open_row: assert (open_q[ba_i]) else $error("SDRAM: no row is open");
          after_opening: assert (now_q >= opened_at_q[ba_i] + Rcd) else $error("SDRAM: tRCD");
          if (we_ni) begin
            read_q      <= 1'b1;
            read_data_q <= memory[place];
          end else begin
            data_driven: assert (dq_driven_i) else $error("SDRAM: a write without data");
            if (!dm_i[0]) memory[place][7:0] <= dq_i[7:0];
            if (!dm_i[1]) memory[place][15:8] <= dq_i[15:8];
            written_at_q[ba_i] <= now_q;
          end
          if (a_i[10]) begin
            // Precharge by itself, as early as the times allow.
            open_q[ba_i]      <= 1'b0;
            closed_at_q[ba_i] <= (we_ni ? now_q : now_q + Wr) > opened_at_q[ba_i] + Ras ? (we_ni ? now_q : now_q + Wr)
                                                                                        : opened_at_q[ba_i] + Ras;
          end
        end
        default: ;
      endcase
    end
    not_both: assert (!(read_q && dq_driven_i)) else $error("SDRAM: two drive the data");
  end
endmodule

`default_nettype wire
