//! LEGO: constant rounds, preprocessing that knows nothing of the function (Nielsen, Schneider, Trifiletti 2017).
