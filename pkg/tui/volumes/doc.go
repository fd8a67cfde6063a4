// Package volumes is the screen that shows volumes, and of the one with the cursor the way from its claim to a pod that
// runs with it, through both planes, with how it is at each hop and what it waits for:
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
// What each volume waits for is known to the sandbox, which says so in its rows.
//
// Floor 4, in the tree of pkg/tui.
package volumes
