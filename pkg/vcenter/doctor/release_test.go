package doctor

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

func TestAbout(t *testing.T) {
	for _, tc := range []struct {
		version, api, kind string
		want               Level
	}{
		{"6.5.0", "6.5", "VirtualCenter", Error},
		{"6.7.0", "6.7.2", "VirtualCenter", Error},
		{"6.7.0", "6.7.3", "VirtualCenter", Warning}, // 6.7 Update 3
		{"7.0.3", "7.0.3.0", "VirtualCenter", OK},
		{"8.0.3", "8.0.3.0", "VirtualCenter", OK},
		{"9.0.0", "9.0.0.0", "VirtualCenter", OK},
		{"8.0.3", "8.0.3.0", "HostAgent", Error},
	} {
		var l list
		if err := l.about(types.AboutInfo{Version: tc.version, ApiVersion: tc.api, ApiType: tc.kind}); err != nil {
			t.Error(err)
		}
		if len(l.all) != 1 || l.all[0].Level != tc.want {
			t.Errorf("%s, API %s of a %s: %+v, want %s", tc.version, tc.api, tc.kind, l.all, tc.want)
		}
	}
	if err := new(list).about(types.AboutInfo{ApiVersion: "new"}); err == nil {
		t.Error("took a version that is none")
	}
}
