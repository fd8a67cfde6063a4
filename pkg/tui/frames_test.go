package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// Every screen at every size.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {100, 30}, {140, 45}, {200, 60}} {
		for screen := 1; screen <= 6; screen++ {
			name := fmt.Sprintf("screen-%d-%dx%d", screen, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				got, err := RenderFrame(Options{Player: recording(t)}, size[0], size[1], 40*time.Second, fmt.Sprint(screen))
				if err != nil {
					t.Fatal(err)
				}
				tuitest.Golden(t, name, got)
			})
		}
	}
}

func TestTooSmall(t *testing.T) {
	for _, size := range [][2]int{{79, 24}, {80, 23}, {20, 4}, {1, 1}} {
		got, err := RenderFrame(Options{Player: recording(t)}, size[0], size[1], 0, "2 j ? :")
		if err != nil {
			t.Fatal(err)
		}
		if size[0] >= 20 && !strings.Contains(got, "too small") {
			t.Errorf("%v:\n%s", size, got)
		}
	}
}

// Each theme, with its escapes.
func TestThemes(t *testing.T) {
	for _, name := range []string{"dark", "light", "mono"} {
		t.Run(name, func(t *testing.T) {
			m := NewModel(t.Context(), Options{Player: recording(t), Theme: name})
			m.resize(100, 30)
			m.play.seek(40 * time.Second)
			m.state = m.play.state
			m.report()
			tuitest.Colored(t, "theme-"+name, m.Frame())
		})
	}
}

// TestFramesFit: a frame is exactly as large as the terminal, at any size, on every screen and with every popup.
func TestFramesFit(t *testing.T) {
	m := NewModel(t.Context(), Options{Player: recording(t), Theme: "dark"})
	m.play.seek(40 * time.Second)
	m.state = m.play.state
	for _, keys := range []string{"1", "2", "2 j enter", "3", "4", "5", "6", "7", "1 ?", "1 :", "1 /"} {
		for width := 80; width <= 210; width += 13 {
			for height := 24; height <= 60; height += 9 {
				m.resize(width, height)
				m.report()
				for name := range strings.FieldsSeq(keys) {
					k, err := keyOf(name)
					if err != nil {
						t.Fatal(err)
					}
					m.press(k)
				}
				rows := strings.Split(m.Frame(), "\n")
				if len(rows) != height {
					t.Fatalf("%dx%d after %q: %d rows", width, height, keys, len(rows))
				}
				for i, row := range rows {
					if w := text.Width(row); w != width {
						t.Fatalf("%dx%d after %q: row %d is %d wide: %q", width, height, keys, i, w, row)
					}
				}
				for range 3 {
					k, _ := keyOf("esc")
					m.press(k)
				}
			}
		}
	}
}

// The same recording gives the same frames every time.
func TestReplayTwice(t *testing.T) {
	final := func(step time.Duration) (frames []string) {
		p := recording(t)
		for screen := 1; screen <= 6; screen++ {
			got, err := RenderFrame(Options{Player: p}, 140, 45, p.Len(), fmt.Sprint(screen))
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, got)
			p.Seek(step)
		}
		return frames
	}
	a, b := final(0), final(17*time.Second)
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("screen %d:\n%s\n\n%s", i+1, a[i], b[i])
		}
	}
}

// BenchmarkFrame folds and draws a frame of 1,000 nodes in a large terminal, 30 times a second with 100 events and as many
// changed nodes in each. cpu-ms/op is its cost, independent of other load.
func BenchmarkFrame(b *testing.B) {
	m := NewModel(b.Context(), Options{Sandbox: &fake{}, Theme: "dark"})
	m.state = tuitest.Big(1000)
	m.resize(200, 60)
	events := burst(m.state, 100)
	for i, name := range []string{"overview", "timeline", "volumes", "faults", "calls", "scenario"} {
		b.Run(name, func(b *testing.B) {
			k, _ := keyOf(fmt.Sprint(i + 1))
			m.press(k)
			before := spent(b)
			for b.Loop() {
				m.state.Apply(m.state.Now().Add(33*time.Millisecond), events()...)
				m.report()
				_ = m.Frame()
			}
			b.ReportMetric((spent(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
