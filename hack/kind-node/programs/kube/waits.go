package main

import (
	"fmt"
	"os"
	"time"

	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"
)

// waits sets the two periods of the controller manager that have no flag, from the environment that kubeadm's extraEnvs give
// its static pod: how long a volume of a node that is gone stays attached, and how often what should be attached is looked
// through. The process is one controller manager, so its package variable is ours to set. Without the variables they are
// upstream's.
func waits() error {
	for name, period := range map[string]*time.Duration{
		"VSPHERE_SANDBOX_MAX_WAIT_FOR_UNMOUNT":   &attachdetach.DefaultTimerConfig.ReconcilerMaxWaitForUnmountDuration,
		"VSPHERE_SANDBOX_VOLUME_POPULATOR_SLEEP": &attachdetach.DefaultTimerConfig.DesiredStateOfWorldPopulatorLoopSleepPeriod,
	} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("%s=%s: want a time such as 36s", name, text)
		}
		*period = d
	}
	return nil
}
