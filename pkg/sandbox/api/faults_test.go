package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestFaults(t *testing.T) {
	var asked string
	answer := `{"id":"f1","fault":"vm.hang","state":"active","targets":[{"kind":"VM","name":"w","does":"hang","state":"active"}],"since":"2026-09-01T12:00:00Z"}`
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + string(body)
		switch r.URL.Path {
		case "/v1/faults":
			fmt.Fprint(w, answer)
		case "/v1/calls":
			fmt.Fprint(w, `[{"vcenter":"us","client":"govc","method":"Login","calls":3,"errors":1}]`)
		default:
			fmt.Fprint(w, "["+answer+"]")
		}
	})
	want := api.Lease{
		ID: "f1", Fault: "vm.hang", State: "active", Since: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC),
		Targets: []api.LeaseTarget{{Kind: "VM", Name: "w", Does: "hang", State: "active"}},
	}
	lease, err := c.Inject(t.Context(), api.InjectRequest{
		Fault: "vm.hang", On: api.Selector{Zone: "a"}, Params: map[string]string{"x": "y"}, Mode: "25%", For: api.Duration(time.Minute), Seed: 5,
	})
	if diff := cmp.Diff(want, lease); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if want := `POST /v1/faults {"fault":"vm.hang","on":{"zone":"a"},"params":{"x":"y"},"mode":"25%","for":"1m0s","seed":5}`; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	for want, ask := range map[string]func() ([]api.Lease, error){
		`POST /v1/heal {"ids":["f1"]}`: func() ([]api.Lease, error) { return c.Heal(t.Context(), api.HealRequest{IDs: []string{"f1"}}) },
		`POST /v1/heal {"all":true}`:   func() ([]api.Lease, error) { return c.Heal(t.Context(), api.HealRequest{All: true}) },
		`GET /v1/leases `:              func() ([]api.Lease, error) { return c.Leases(t.Context()) },
	} {
		list, err := ask()
		if err != nil || len(list) != 1 || list[0].ID != "f1" || asked != want {
			t.Errorf("%+v, %v; asked %s, want %s", list, err, asked, want)
		}
	}
	calls, err := c.Calls(t.Context())
	if diff := cmp.Diff([]api.Calls{{VCenter: "us", Client: "govc", Method: "Login", Calls: 3, Errors: 1}}, calls); err != nil || diff != "" || asked != "GET /v1/calls " {
		t.Errorf("%v, asked %s (-want +got):\n%s", err, asked, diff)
	}
}

func TestWatch(t *testing.T) {
	enough := errors.New("enough")
	for _, tc := range []struct {
		name  string
		lines string
		cut   bool
		stop  int // after as many updates
		want  int
		err   string
	}{
		{name: "to the end", lines: `{"vm":{"name":"w"}}` + "\n" + `{"synced":true}` + "\n" + `{"vm":{"name":"w"},"deleted":true}` + "\n", want: 3},
		{name: "until the reader has enough", lines: `{"synced":true}` + "\n" + `{"synced":true}` + "\n", stop: 1, want: 1, err: "enough"},
		{name: "malformed", lines: `{"synced":true}` + "\n" + `{"synced":1}` + "\n", want: 1, err: "watch: json: cannot unmarshal number into Go struct field Update.synced of type bool"},
		{name: "cut off", lines: `{"synced":true}` + "\n", cut: true, want: 1, err: "watch: unexpected EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.String() != "/v1/watch?after=7" {
					t.Errorf("asked %s", r.URL)
				}
				_, _ = io.WriteString(w, tc.lines)
				if tc.cut {
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			n := 0
			err := c.Watch(t.Context(), 7, func(api.Update) error {
				if n++; n == tc.stop {
					return enough
				}
				return nil
			})
			if text := fmt.Sprint(err); n != tc.want || err == nil && tc.err != "" || err != nil && text != tc.err {
				t.Errorf("%d updates, %v; want %d, %q", n, err, tc.want, tc.err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, `{"synced":true}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if err := c.Watch(ctx, 0, func(api.Update) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
