// Gives the memory to the kernel while it runs, and to the bridge otherwise. Whoever has it ends all its bursts before
// the other takes over. The bridge accesses single beats, and all of each.

`default_nettype none

module board_switch #(
  parameter int unsigned BeatBytes = 16
) (
  input  wire                    running_i,
  // the kernel
  input  wire  [63:0]            kernel_araddr_i,
  input  wire  [7:0]             kernel_arlen_i,
  input  wire                    kernel_arvalid_i,
  output logic                   kernel_arready_o,
  output logic                   kernel_rvalid_o,
  input  wire  [63:0]            kernel_awaddr_i,
  input  wire  [7:0]             kernel_awlen_i,
  input  wire                    kernel_awvalid_i,
  output logic                   kernel_awready_o,
  input  wire  [8*BeatBytes-1:0] kernel_wdata_i,
  input  wire  [BeatBytes-1:0]   kernel_wstrb_i,
  input  wire                    kernel_wlast_i,
  input  wire                    kernel_wvalid_i,
  output logic                   kernel_wready_o,
  output logic                   kernel_bvalid_o,
  // the bridge
  input  wire  [31:0]            bridge_address_i,
  input  wire                    bridge_arvalid_i,
  output logic                   bridge_arready_o,
  output logic                   bridge_rvalid_o,
  input  wire                    bridge_awvalid_i,
  output logic                   bridge_awready_o,
  input  wire  [8*BeatBytes-1:0] bridge_wdata_i,
  input  wire                    bridge_wvalid_i,
  output logic                   bridge_wready_o,
  output logic                   bridge_bvalid_o,
  // the memory; its data and answers go to both
  output logic [63:0]            araddr_o,
  output logic [7:0]             arlen_o,
  output logic                   arvalid_o,
  input  wire                    arready_i,
  input  wire                    rvalid_i,
  output logic [63:0]            awaddr_o,
  output logic [7:0]             awlen_o,
  output logic                   awvalid_o,
  input  wire                    awready_i,
  output logic [8*BeatBytes-1:0] wdata_o,
  output logic [BeatBytes-1:0]   wstrb_o,
  output logic                   wlast_o,
  output logic                   wvalid_o,
  input  wire                    wready_i,
  input  wire                    bvalid_i
);
  assign araddr_o  = running_i ? kernel_araddr_i : 64'(bridge_address_i);
  assign arlen_o   = running_i ? kernel_arlen_i : '0;
  assign arvalid_o = running_i ? kernel_arvalid_i : bridge_arvalid_i;
  assign awaddr_o  = running_i ? kernel_awaddr_i : 64'(bridge_address_i);
  assign awlen_o   = running_i ? kernel_awlen_i : '0;
  assign awvalid_o = running_i ? kernel_awvalid_i : bridge_awvalid_i;
  assign wdata_o   = running_i ? kernel_wdata_i : bridge_wdata_i;
  assign wstrb_o   = running_i ? kernel_wstrb_i : '1;
  assign wlast_o   = running_i ? kernel_wlast_i : 1'b1;
  assign wvalid_o  = running_i ? kernel_wvalid_i : bridge_wvalid_i;

  assign kernel_arready_o = running_i && arready_i;
  assign kernel_rvalid_o  = running_i && rvalid_i;
  assign kernel_awready_o = running_i && awready_i;
  assign kernel_wready_o  = running_i && wready_i;
  assign kernel_bvalid_o  = running_i && bvalid_i;
  assign bridge_arready_o = !running_i && arready_i;
  assign bridge_rvalid_o  = !running_i && rvalid_i;
  assign bridge_awready_o = !running_i && awready_i;
  assign bridge_wready_o  = !running_i && wready_i;
  assign bridge_bvalid_o  = !running_i && bvalid_i;
endmodule

`default_nettype wire
