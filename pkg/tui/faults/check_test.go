package faults

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestBadParam(t *testing.T) {
	for _, tt := range []struct {
		param       api.FaultParam
		value, want string
	}{
		{api.FaultParam{Required: true}, "", "has to be given"},
		{api.FaultParam{}, "", ""},
		{api.FaultParam{Type: "text"}, "anything", ""},
		{api.FaultParam{Type: "duration"}, "1m30s", ""},
		{api.FaultParam{Type: "duration"}, "3", `"3" is no duration like 250ms or 1m30s`},
		{api.FaultParam{Type: "duration"}, "-3s", `"-3s" is no duration like 250ms or 1m30s`},
		{api.FaultParam{Type: "number"}, "20", ""},
		{api.FaultParam{Type: "number"}, "-1", `"-1" is no whole number from 0`},
		{api.FaultParam{Type: "number"}, "many", `"many" is no whole number from 0`},
		{api.FaultParam{Type: "fraction"}, "0.5", ""},
		{api.FaultParam{Type: "fraction"}, "25%", ""},
		{api.FaultParam{Type: "fraction"}, "120%", `"120%" is no fraction from 0 to 1, like 0.25 or 25%`},
		{api.FaultParam{Type: "fraction"}, "NaN", `"NaN" is no fraction from 0 to 1, like 0.25 or 25%`},
		{api.FaultParam{Type: "bool"}, "true", ""},
		{api.FaultParam{Type: "bool"}, "yes", `"yes" is neither true nor false`},
		{api.FaultParam{Choices: []string{"zone", "region"}}, "region", ""},
		{api.FaultParam{Choices: []string{"zone", "region"}}, "regoin", `"regoin" is none of zone, region; did you mean "region"?`},
		{api.FaultParam{Choices: []string{"zone", "region"}}, "rack", `"rack" is none of zone, region`},
	} {
		if got := badParam(tt.param, tt.value); got != tt.want {
			t.Errorf("%+v, %q: %q, want %q", tt.param, tt.value, got, tt.want)
		}
	}
}

func TestBadMode(t *testing.T) {
	for value, ok := range map[string]bool{
		"": true, "one": true, "all": true, "3": true, "50%": true, "0.5%": true, "100%": true,
		"0": false, "-1": false, "0%": false, "101%": false, "some": false, "%": false, "NaN%": false,
	} {
		if got := badMode(value); (got == "") != ok {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestBadFor(t *testing.T) {
	for value, ok := range map[string]bool{"": true, "30s": true, "1h5m": true, "0s": false, "-1s": false, "30": false, "soon": false} {
		if got := badFor(value); (got == "") != ok {
			t.Errorf("%q: %q", value, got)
		}
	}
}
