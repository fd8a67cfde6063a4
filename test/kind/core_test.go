package kind

import (
	"encoding/json"
	"testing"
	"time"
)

// suiteTime is how long the core suite may take: it boots a cluster for every group of scenarios that cannot share one.
const suiteTime = 40 * time.Minute

// The core suite, on kind. What needs something that containers do not have is skipped, and says what; everything else
// passes.
func TestCoreSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many minutes; left out by -short")
	}
	h := newHome(t)
	begin := time.Now()
	r := h.Within(suiteTime, "scenario", "run", "--suite", "core", "--cluster", "kind", "--kind-image", node, "-o", "json")
	took(t, "the core suite", begin)
	var suite struct {
		Scenarios []struct {
			Name    string `json:"name"`
			Verdict string `json:"verdict"`
			Message string `json:"message"`
		} `json:"scenarios"`
	}
	if err := json.Unmarshal([]byte(r.Out), &suite); err != nil {
		t.Fatalf("exit status %d, %v\n%s", r.Code, err, r.Both())
	}
	count := map[string]int{}
	for _, s := range suite.Scenarios {
		count[s.Verdict]++
		t.Logf("%-8s %s %s", s.Verdict, s.Name, s.Message)
		if s.Verdict != "passed" && s.Verdict != "skipped" {
			t.Errorf("%s: %s: %s", s.Name, s.Verdict, s.Message)
		}
	}
	// A suite of which most is skipped would be green for nothing.
	if r.Code != 0 || count["passed"] <= count["skipped"] {
		t.Errorf("exit status %d, %v\n%s", r.Code, count, r.Err)
	}
	h.nothingLeft()
}
