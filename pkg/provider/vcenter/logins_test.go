package vcenter

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Wrong credentials never lock the account, however long they are configured: by default a vCenter locks it after five refusals
// within 180 seconds.
func TestLoginsKeepTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logins{backoff: Backoff{Min: 10 * time.Second, Max: time.Minute}}
		wrong := Credentials{User: "u", Password: "wrong"}
		var refusals []time.Time
		for began := time.Now(); time.Since(began) < 2*time.Hour; time.Sleep(time.Second) {
			for _, a := range []api{restAPI, soapAPI} {
				if wait, err := l.wait(a, wrong); wait > 0 {
					if !errors.Is(err, ErrInvalidLogin) {
						t.Fatalf("error %v", err)
					}
					continue
				}
				l.refused(a, wrong, ErrInvalidLogin)
				refusals = append(refusals, time.Now())
			}
		}
		for i := 4; i < len(refusals); i++ {
			if d := refusals[i].Sub(refusals[i-4]); d <= 180*time.Second {
				t.Fatalf("five refusals within %s", d)
			}
		}
		if len(refusals) < 60 {
			t.Errorf("%d attempts in two hours", len(refusals))
		}
	})
}

func TestLoginsTryWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logins{backoff: Backoff{Min: 10 * time.Second, Max: time.Minute}}
		wrong, right := Credentials{User: "u", Password: "wrong"}, Credentials{User: "u", Password: "right"}
		may := func(a api, c Credentials, want bool) {
			t.Helper()
			if wait, _ := l.wait(a, c); (wait == 0) != want {
				t.Errorf("%s: wait %s", c.Password, wait)
			}
		}
		may(soapAPI, wrong, true)
		l.refused(soapAPI, wrong, ErrInvalidLogin)
		may(soapAPI, wrong, false)
		may(restAPI, wrong, true) // not tried there yet
		may(soapAPI, right, true)
		l.accepted(soapAPI, right)
		may(soapAPI, wrong, false)
		time.Sleep(10 * time.Second)
		may(soapAPI, wrong, true)
		l.accepted(soapAPI, wrong) // the vCenter's password was changed to the configured one
		may(soapAPI, wrong, true)
	})
}
