package kube

import (
	"context"
	"fmt"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// ccm is the component; the second replica is ccm-2.
const ccm = "ccm"

// which is the parameter that chooses one of several cloud controller managers.
func which() fault.Param {
	return fault.Param{Name: "replica", Short: "of several, which: a number from 1, or the leader", Type: fault.Text, Default: "leader"}
}

// pick is the picker of the one that the parameter chooses.
func pick(c *fault.Call) (one, error) {
	n := c.Ground.Processes.Replicas(ccm)
	if n == 0 {
		return one{}, fault.Refuse("the sandbox runs no cloud controller manager")
	}
	text := c.Params.Text("replica")
	if text == "leader" {
		if n == 1 {
			return one{ccm}, nil
		}
		if p, ok := c.Ground.Processes.(leader); ok {
			if name := p.Leader(ccm); name != "" {
				return one{name}, nil
			}
		}
		return one{}, fault.Refuse("none of the %d cloud controller managers is known to lead: choose one, replica=1 to %d", n, n)
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return one{}, &fault.Refusal{Code: "invalid", Message: fmt.Sprintf("parameter \"replica\": %q is neither a number from 1 nor leader", text)}
	}
	if number > n {
		return one{}, fault.Refuse("there are %d cloud controller managers, and no number %d", n, number)
	}
	return one{nth(number)}, nil
}

// restartAll restarts every cloud controller manager.
func restartAll(ctx context.Context, c *fault.Call) error {
	for n := range c.Ground.Processes.Replicas(ccm) {
		if err := restart(ctx, c, nth(n+1)); err != nil {
			return err
		}
	}
	return nil
}

// nth is the name of a replica, from 1.
func nth(number int) string {
	if number == 1 {
		return ccm
	}
	return ccm + "-" + strconv.Itoa(number)
}
