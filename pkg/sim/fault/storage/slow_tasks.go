package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func slowTasks() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "tasks.slow",
		Short: "makes the tasks of vCenters take longer",
		Long: `Every task that a call starts (power, creation, attachment, moves) tells of its end later than it came. Calls are answered as
fast as ever; see vcenter.latency for slow ones. Healing ends the tasks that wait.`,
		Object: fault.VCenter, Needs: []fault.Need{fault.Simulator}, Touches: "tasks",
		Params:   []fault.Param{{Name: "by", Short: "how much longer", Type: fault.Duration, Default: "10s"}},
		Reported: []string{"vsphere-csi-driver#284"},
	}, fault.Steps[time.Duration]{
		Plan: func(_ context.Context, c *fault.Call) (time.Duration, string, error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return 0, "", err
			}
			by := c.Params.Duration("by")
			if by <= 0 {
				return 0, "", &fault.Refusal{Code: "invalid", Message: "parameter by: must be more than no time"}
			}
			was := ep.Sim.SlowTasks()
			return was, fmt.Sprintf("tasks take %s longer", by), nil
		},
		Apply: func(_ context.Context, c *fault.Call, _ *time.Duration) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			by := c.Params.Duration("by")
			ep.Sim.SetSlowTasks(by)
			c.Note("vcenter.tasks-slow", event.Warning, "tasks take %s longer", by)
			return nil
		},
		Revert: func(_ context.Context, c *fault.Call, was *time.Duration) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			ep.Sim.SetSlowTasks(*was)
			return nil
		},
	})
}
