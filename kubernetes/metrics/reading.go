package metrics

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// reading is what a kubelet reported at one time.
type reading struct {
	node       usage
	containers map[container]usage
}

// container names a container of a pod.
type container struct{ namespace, pod, name string }

// usage is the use of resources up to a time.
type usage struct {
	at     time.Time
	cpu    float64 // seconds since the start
	memory float64 // bytes, the working set
	start  time.Time
}

// series are the metrics that are read.
var series = map[string]func(*usage, float64){
	"node_cpu_usage_seconds_total":       func(u *usage, v float64) { u.cpu = v },
	"node_memory_working_set_bytes":      func(u *usage, v float64) { u.memory = v },
	"container_cpu_usage_seconds_total":  func(u *usage, v float64) { u.cpu = v },
	"container_memory_working_set_bytes": func(u *usage, v float64) { u.memory = v },
	"container_start_time_seconds":       func(u *usage, v float64) { u.start = time.UnixMilli(int64(v * 1000)) },
}

// maxLine is more than the longest line: three names.
const maxLine = 64 << 10

// parse reads the response of /metrics/resource: lines of the form name{label="value",…} value timestamp. Names of Kubernetes need
// no escapes. A metric without a timestamp has the time now.
func parse(r io.Reader, now time.Time) (*reading, error) {
	got := &reading{containers: map[container]usage{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Text()
		name, rest := line, ""
		if end := strings.IndexAny(line, "{ "); end >= 0 {
			name, rest = line[:end], line[end:]
		}
		set := series[name]
		if set == nil {
			continue
		}
		of, isContainer := container{}, false
		if labels, found := strings.CutPrefix(rest, "{"); found {
			labels, rest, isContainer = strings.Cut(labels, "} ")
			of = labeled(labels)
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 || isContainer != strings.HasPrefix(name, "container_") {
			return nil, fmt.Errorf("metrics of a kubelet: line %q", line)
		}
		value, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics of a kubelet: line %q: %w", line, err)
		}
		u := got.node
		if isContainer {
			u = got.containers[of]
		}
		set(&u, value)
		if name != "container_start_time_seconds" {
			u.at = now
			if len(fields) > 1 {
				ms, err := strconv.ParseInt(fields[1], 10, 64)
				if err != nil {
					return nil, fmt.Errorf("metrics of a kubelet: line %q: %w", line, err)
				}
				u.at = time.UnixMilli(ms)
			}
		}
		if isContainer {
			got.containers[of] = u
		} else {
			got.node = u
		}
	}
	return got, lines.Err()
}

func labeled(labels string) (c container) {
	for label := range strings.SplitSeq(labels, ",") {
		name, value, _ := strings.Cut(label, "=")
		value = strings.Trim(value, `"`)
		switch name {
		case "namespace":
			c.namespace = value
		case "pod":
			c.pod = value
		case "container":
			c.name = value
		}
	}
	return c
}

// since returns the use of CPUs between two readings, and the length of that window. A container that started in between counts
// from its start. It is false when the readings are of one time.
func (u usage) since(before usage) (cores float64, window time.Duration, ok bool) {
	if before.at.IsZero() || u.cpu < before.cpu || !u.start.Equal(before.start) {
		if u.start.IsZero() {
			return 0, 0, false
		}
		before = usage{at: u.start}
	}
	window = u.at.Sub(before.at)
	if window <= 0 {
		return 0, 0, false
	}
	return (u.cpu - before.cpu) / window.Seconds(), window, true
}
