package vcenter_test

import (
	"testing"

	"github.com/vmware/govmomi/session"
)

// A session's messages are English, in any language of the vCenter: the CSI driver classifies some faults without a specific type by
// their messages.
func TestSessionIsEnglish(t *testing.T) {
	v := start(t)
	c, _ := run(t, v.config())
	u, err := session.NewManager(connect(t, c).Vim).UserSession(t.Context())
	if err != nil || u == nil || u.Locale != "en_US" {
		t.Errorf("session %+v, %v", u, err)
	}
}
