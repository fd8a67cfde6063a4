// Package overview is the screen that shows both planes side by side: what vSphere has, as a tree of regions, zones,
// datacenters, hosts and VMs, and in the row of each VM the Node that it is in Kubernetes.
//
//	REGION ▸ ZONE ▸ DC ▸ HOST ▸ VM   POWER  │  READY        TAINTS      FINDINGS
//	▾ us                             2/3 on    2/3 Ready                ≠1
//	     worker-1                    ○ off  │  ● Ready                  ≠ VM off, node still Ready
//
// It marks recent changes, and highlights the disagreements of the planes, which package fold finds. It changes nothing: keys
// become values of package intent.
//
// Floor 4, in the tree of pkg/tui.
package overview
