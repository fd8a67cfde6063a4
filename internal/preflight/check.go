package preflight

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"golang.org/x/sys/unix"
)

// Verdict is what a check comes to.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn" // a sandbox boots, and may run short later
	Fail Verdict = "fail" // a sandbox does not boot, or does not work
)

// Finding is what a check found.
type Finding struct {
	// Check is one of [Names].
	Check   string
	Verdict Verdict
	// Message says what there is; where that is short, also what is needed and by how much it is short.
	Message string
	// Try is what to set, "" when nothing is short.
	Try string
}

// The names of the checks.
const (
	Loopback     = "loopback"
	Ports        = "ports"
	OpenFiles    = "open-files"
	Processes    = "processes"
	Inotify      = "inotify"
	AddressSpace = "address-space"
	Memory       = "memory"
	Disk         = "disk"
)

// Names are those of all checks, in the order of [Check].
func Names() []string {
	return []string{Loopback, Ports, OpenFiles, Processes, Inotify, AddressSpace, Memory, Disk}
}

// Check compares what a sandbox needs with what a machine has. It returns a finding for each thing that it could read, in
// the order of [Names], and makes nothing. It takes as long as a connection on loopback that is not answered: five seconds.
func Check(ctx context.Context, m Machine, need Need) []Finding {
	var found []Finding
	for _, check := range []func(context.Context, Machine, Need) []Finding{
		checkLoopback, checkPorts, checkFiles, checkProcesses, checkInotify, checkAddressSpace, checkMemory, checkDisk,
	} {
		found = append(found, check(ctx, m, need)...)
	}
	return found
}

func one(f Finding) []Finding { return []Finding{f} }

func checkLoopback(ctx context.Context, m Machine, _ Need) []Finding {
	if err := m.Dial(ctx); err != nil {
		return one(Finding{
			Check: Loopback, Verdict: Fail, Message: fmt.Sprintf("127.0.0.1 cannot be connected to: %v", err), Try: "sudo ip link set lo up",
		})
	}
	if err := m.Listen(ctx, []string{"127.0.0.2:0"}, 1, 0); err != nil {
		return one(Finding{
			Check: Loopback, Verdict: Warn, Message: "127.0.0.2 cannot be listened on: vCenters share 127.0.0.1, each with a port of its own",
		})
	}
	return one(Finding{Check: Loopback, Verdict: Pass, Message: "127.0.0.2 and up can be listened on: every vCenter gets its own address"})
}

func checkFiles(_ context.Context, m Machine, need Need) []Finding {
	n, err := m.Limit(unix.RLIMIT_NOFILE)
	if err != nil {
		return nil
	}
	f := Finding{Check: OpenFiles, Verdict: Pass, Message: "a process may have " + count(n, "files") + " open"}
	if n < need.Files {
		f.Verdict, f.Try = Fail, fmt.Sprintf("ulimit -n %d", round(need.Files, 4096))
		f.Message += fmt.Sprintf(", and one of the sandbox needs %d: %d short", need.Files, need.Files-n)
	}
	return one(f)
}

func checkAddressSpace(_ context.Context, m Machine, need Need) []Finding {
	n, err := m.Limit(unix.RLIMIT_AS)
	if err != nil || n >= need.AddressSpace {
		return nil // mostly there is no limit, and nothing to say
	}
	return one(Finding{
		Check: AddressSpace, Verdict: Fail, Try: "ulimit -v unlimited",
		Message: fmt.Sprintf("a process may map %s of memory, and one of the sandbox maps %s: %s short", bytes(n), bytes(need.AddressSpace), bytes(need.AddressSpace-n)),
	})
}

// enough is how much disk leaves room for what a sandbox writes after its boot: events, a recording, logs.
const enough = 512 * mib

func checkDisk(_ context.Context, m Machine, need Need) []Finding {
	free, inodes, err := m.Disk(need.Dir)
	if err != nil {
		return nil
	}
	f := Finding{Check: Disk, Verdict: Pass, Message: bytes(free) + " free for the state directory", Try: elsewhere}
	switch {
	case free < need.Disk:
		f.Verdict = Fail
		f.Message += fmt.Sprintf(", and a boot writes %s: %s short", bytes(need.Disk), bytes(need.Disk-free))
	case inodes < need.Inodes:
		f.Verdict = Fail
		f.Message += fmt.Sprintf(", but %d inodes of the %d that a boot takes: %d short", inodes, need.Inodes, need.Inodes-inodes)
	case free < need.Disk+enough:
		f.Verdict = Warn
		f.Message += fmt.Sprintf("; a boot writes %s, and events, a recording and logs grow by up to %s", bytes(need.Disk), bytes(enough))
	default:
		f.Try = ""
	}
	return one(f)
}

// elsewhere is what to do about a disk.
const elsewhere = "make room, or export VSPHERE_SANDBOX_STATE=DIRECTORY"

// round rounds up to a multiple of unit.
func round(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

func count(n uint64, noun string) string {
	if n == math.MaxUint64 {
		return "any number of " + noun
	}
	return strconv.FormatUint(n, 10) + " " + noun
}

// bytes writes a number of bytes with three digits or less before the unit.
func bytes(n uint64) string {
	for _, unit := range []struct {
		size uint64
		name string
	}{{gib, "Gi"}, {mib, "Mi"}, {kib, "Ki"}} {
		if n >= unit.size {
			if n < 10*unit.size {
				return strconv.FormatFloat(math.Floor(float64(n)*10/float64(unit.size))/10, 'f', -1, 64) + unit.name
			}
			return strconv.FormatUint(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatUint(n, 10)
}
