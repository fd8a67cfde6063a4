package pane_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// FuzzLogs: a pane stays in its frame, and terminates, for any content of a log.
func FuzzLogs(f *testing.F) {
	f.Add("plain text that is long enough to be wrapped somewhere", "b", uint8(20), uint8(5))
	f.Add("日本語 e\u0301\u200d👩\u200d💻 \x1b[31mred\x1b[0m\ttab", "日", uint8(1), uint8(3))
	f.Add("   leading", "LEAD", uint8(4), uint8(2))
	f.Add("\xff\xfe\u202e", "", uint8(3), uint8(2))
	f.Add("İİİİ ſſ", "i", uint8(2), uint8(9))
	f.Fuzz(func(t *testing.T, s, filter string, width, height uint8) {
		w, h := 1+int(width), 1+int(height)%60
		l := pane.NewLogs(s)
		l.SetSize(w, h)
		l.Append([]string{s, s + s})
		l.SetFilter(filter)
		for _, name := range []string{"right", "n", "z", "n", "up", "z", "left", "G"} {
			press(l, name)
			tuitest.Fills(t, l.View(), w, h)
		}
	})
}
