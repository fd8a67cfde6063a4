// Package sample has an invented run to test reports: with every verdict, and awkward texts.
//
// Only tests import it.
package sample
