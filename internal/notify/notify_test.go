package notify_test

import (
	"slices"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

func TestWake(t *testing.T) {
	ch := make(chan struct{}, 1)
	notify.Wake(ch)
	notify.Wake(ch)
	<-ch
	select {
	case <-ch:
		t.Error("woken twice")
	default:
	}
}

func TestListeners(t *testing.T) {
	var l notify.Listeners[string]
	var got []string
	stop := l.Listen(func(news string) { got = append(got, "a "+news) })
	l.Notify("1")
	defer l.Listen(func(news string) { got = append(got, "b "+news) })()
	stop()
	stop()
	l.Notify("2")
	if !slices.Equal(got, []string{"a 1", "b 2"}) {
		t.Error(got)
	}
}
