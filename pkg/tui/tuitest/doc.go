// Package tuitest is what tests of the terminal UI share: a sandbox's story that is always the same, a large sandbox, keys
// and golden frames.
//
//	s := tuitest.At(30 * time.Second) // a VM is off, its node is NotReady, its volume is blocked
//	p.SetState(s)
//	tuitest.Press(p.Handle, "j", "enter")
//	tuitest.Golden(t, "overview-80x21", p.View())
//
// The story goes like this, in seconds after [Began]:
//
//	 0-9  two vCenters, us and eu, come up, and after them six nodes
//	10-14 the StatefulSet web gets three volumes: web-0 on worker-west-1, web-1 on worker-east-1, web-2 on worker-eu-1
//	15    the scenario "off-for-a-while" begins
//	20    its fault f1 powers worker-west-1 off; its node is NotReady, tainted unreachable and shutdown, web-0 is evicted
//	27    a user deletes web-0 by force: it is scheduled to cp-1, and its volume is blocked
//	45    f1 is over: the VM is on, the node is Ready, the taints go, the volume moves, web-0 runs on cp-1
//	52    the scenario has passed
//	60    a user tags host esx-west-2 us-east: worker-west-1, which is on it, is still labeled us-west
//	70    the fault f2 takes vCenter eu down for ten seconds
//	90    the end
//
// It is for tests alone; nothing else imports it. It defines the flag -update, which rewrites golden files. Floor 4, in the
// tree of pkg/tui.
package tuitest
