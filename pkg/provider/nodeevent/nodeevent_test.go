package nodeevent

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

type nothing struct{ record.EventRecorder }

func (nothing) Event(_ runtime.Object, _, _, _ string) {}

func TestReporterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(slog.New(slog.DiscardHandler))
		r.Attach(nothing{})
		for i := range maxNodes + 10 {
			name := fmt.Sprint("n", i)
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
			time.Sleep(time.Millisecond)
			r.Report(n, 0, Event{corev1.EventTypeWarning, "Odd", strings.Repeat("x", 2*maxNote)})
		}
		if n := r.Remembered(); n != maxNodes {
			t.Errorf("%d remembered", n)
		}
		if r.states["n0"] != nil || r.states["n10"] == nil {
			t.Error("not the oldest was forgotten")
		}
		if l := len(r.states["n10"].last[0].Message); l > maxNote {
			t.Errorf("message of %d bytes", l)
		}
	})
}
