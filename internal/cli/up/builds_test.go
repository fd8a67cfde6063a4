package up

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func TestBuildsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := event.NewLog(16)
		log.Append(event.Event{Kind: "ccm.swapped", Message: "told before"})
		var out bytes.Buffer
		end := reportBuilds(t.Context(), &out, log)
		synctest.Wait()
		for _, e := range []event.Event{
			{Kind: "ccm.rebuilt", Message: "bin/ccm was built again (0123456789ab)"},
			{Kind: "vm.power-off", Message: "not of this"},
			{Kind: "ccm.swap-failed", Message: "bin/ccm: exit status 1; back to bin/ccm"},
		} {
			log.Append(e)
		}
		synctest.Wait()
		end()
		if want := "ccm: bin/ccm was built again (0123456789ab)\nccm: ✗ bin/ccm: exit status 1; back to bin/ccm\n"; out.String() != want {
			t.Errorf("got %q", out.String())
		}
	})
}
