package vcenter_test

import (
	"testing"

	"github.com/vmware/govmomi/session"
)

// A session's messages are English, whatever the vCenter's own language: the CSI driver reads the kind of some faults, which
// have no type of their own, from their words.
func TestSessionIsEnglish(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	u, err := session.NewManager(connect(t, c).Vim).UserSession(t.Context())
	if err != nil || u == nil || u.Locale != "en_US" {
		t.Errorf("session %+v, %v", u, err)
	}
}
