package root

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
)

// Without a command the program greets, and knows of what is running.
func TestGreeting(t *testing.T) {
	for name, s := range map[string]*clitest.Server{"greeting": nil, "greeting.running": clitest.Serve(t, clitest.ZonesUSEU())} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(s)
			if exit := execute(t, e); exit != 0 {
				t.Errorf("exit status %d", exit)
			}
			clitest.Golden(t, name, e.Out.String())
		})
	}
}
