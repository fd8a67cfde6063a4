// Package volumes is the screen of volumes. For the selected one it shows the path from its claim to a running pod, through both
// planes, with the state of each hop and what the volume waits for:
//
//	  PVC         default/data-web-0   ● Bound
//	↓ PV          pvc-1f6b3c52-…       ● Bound
//	↓ CNS volume  4b0c9a1e-…           ● exists, in vCenter us
//	↓ VMDK        [local-west] fcd/…   ● on datastore local-west
//	↓ VM          worker-west-1        ○ off, scsi 0:1
//	✗ Node        worker-west-1        ● attached, ? Unknown
//	    waits for: pod default/web-0 wants it on node cp-1; …
//	    try: vsphere-sandbox taint out-of-service worker-west-1
//	↓ Pod         default/web-0        ◐ scheduled
//
// The sandbox knows what each volume waits for, and sends it in its rows.
//
// Floor 4, in the tree of pkg/tui.
package volumes
