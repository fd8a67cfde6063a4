package vcenterconfig

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgress(t *testing.T) {
	for _, tc := range []struct {
		tty  bool
		want string
	}{
		{false, "  … slow (3s)\n  … slow (6s)\n"},
		{true, "  … slow (3s)\r\x1b[K  … slow (6s)\r\x1b[K"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			p := NewProgress(&b, tc.tty)
			p.Step("quick")
			p.Step("slow")
			time.Sleep(2*beat + time.Second)
			p.Step("last")
			p.Close()
			p.Close()
			if diff := cmp.Diff(tc.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
