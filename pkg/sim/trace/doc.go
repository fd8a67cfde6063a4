// Package trace keeps what clients and vCenters said to each other: a [Recorder] gets it from gates, masks passwords, cookies and
// tokens, and writes a line of JSON for each call. [Text] and [HAR] show such calls, and [Replay] sends them again.
//
// Floor 2.
package trace
