package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
)

// ExplainState gives the errors of [Open] their codes and ways out. Verb is the command that was typed.
func ExplainState(err error, name, verb string) error {
	var running instance.ErrRunning
	switch {
	case errors.As(err, &running) && running.Removed:
		return &report.Error{
			Code: "already-running", Message: running.Error(), Try: fmt.Sprintf("vsphere-sandbox down --name %s   # which waits for that", name),
		}
	case errors.As(err, &running):
		return &report.Error{
			Code: "already-running", Message: running.Error(),
			Try: fmt.Sprintf("vsphere-sandbox status --name %s\nvsphere-sandbox down --name %[1]s\nvsphere-sandbox %[2]s --name another", name, verb),
		}
	case full(err):
		return diskFull(err)
	case report.State(err) != nil:
		return report.State(err)
	case groundError(err) != nil:
		return groundError(err)
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &report.Error{
			Code: "state-unwritable", Message: "the state directory cannot be written", Err: err, Exit: report.Prerequisite,
			Try: "export VSPHERE_SANDBOX_STATE=DIR   # a folder that you can write to",
		}
	}
	return fmt.Errorf("sandbox %q: %w", name, err)
}

// ExplainRun does so for the errors that a sandbox ends with, nil among them. FreePort is what to type for a free port.
func ExplainRun(err error, name, freePort string) error {
	var network *net.OpError
	var left *ground.LeftError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &left):
		return behind(err, name)
	case groundError(err) != nil:
		return groundError(err)
	case errors.As(err, new(*loopback.PortError)):
		return &report.Error{Code: "port-in-use", Message: err.Error(), Exit: report.Prerequisite, Try: "--vcenter-port 0   # any free one"}
	case errors.Is(err, syscall.EADDRINUSE):
		return &report.Error{
			Code: "port-in-use", Message: "a port is taken by another program", Err: err, Exit: report.Prerequisite, Try: freePort,
		}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &report.Error{
			Code: "address-unavailable", Message: "this machine has no such address", Err: err, Exit: report.Prerequisite, Try: freePort,
		}
	case errors.As(err, &network) && errors.Is(network, syscall.EACCES):
		return &report.Error{
			Code: "port-forbidden", Message: "a port may not be used: ports below 1024 are for root", Err: err, Exit: report.Prerequisite, Try: freePort,
		}
	case full(err):
		return diskFull(err)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("sandbox %q: %w", name, err)
}

// behind returns the error that something of a sandbox is left. It includes err, but comes first, since the user must act
// on it.
func behind(err error, name string) error {
	try := "vsphere-sandbox down --name " + name + "   # takes away what is left"
	var e *coded.Error
	if errors.As(err, &e) && strings.Contains(e.Try, "vsphere-sandbox down ") {
		try = e.Try
	} else if e != nil && e.Try != "" {
		try = e.Try + "\n" + try
	}
	return &report.Error{Code: "left-behind", Message: fmt.Sprintf("sandbox %q: not everything could be removed", name), Try: try, Err: err, Exit: report.Failure}
}

// groundError is an error of what the cluster of a sandbox stands on, as one that commands end with; nil for any other.
func groundError(err error) error {
	if _, ok := errors.AsType[*coded.Error](err); !ok {
		return nil
	}
	return report.Coded(err, report.Prerequisite, map[string]int{
		kind.ConfigInvalid: report.Usage, "usage": report.Usage, kind.CreateFailed: report.Failure,
	})
}

// full reports whether the disk is. A child can only tell so in words.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

func diskFull(err error) error {
	return &report.Error{
		Code: "disk-full", Message: "the disk of the state directory is full", Err: err, Exit: report.Prerequisite,
		Try: "free some space, or export VSPHERE_SANDBOX_STATE=DIR elsewhere",
	}
}
